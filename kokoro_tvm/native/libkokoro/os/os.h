/* What operating systems have differently: os_posix.c and os_windows.c. Paths and all other text are UTF-8. What is
 * returned as `char *` is the caller's to free. Where a function fails, errno has the reason, unless its comment names
 * another place. */
#ifndef KOKORO_OS_H
#define KOKORO_OS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The file names of the TVM runtime. */
extern const char OS_FFI[], OS_RUNTIME[];

/* What the file system has recorded of a file. */
typedef struct os_status {
  int is_file;
  int64_t size;
  uint64_t device, number;  /* which file it is */
  int64_t written, changed; /* POSIX time in nanoseconds: of its content, of anything; 0: not known */
} os_status;

/* A descriptor to read a file by, -1 where it cannot be opened. It waits for nobody, and no child inherits it. */
int os_open(const char *path);
void os_close(int descriptor);
int os_status_of(int descriptor, os_status *status); /* 0: done */
int os_is_folder(const char *path); /* 1: it is, 0: it is something else, -1: there is nothing */
int os_is_stream(const char *path); /* whether it leads to a pipe or a device */
/* The bytes that were read at a place, at most `most`; 0 at the end, -1 where it fails. */
int64_t os_read(int descriptor, void *to, size_t most, int64_t place);
/* A whole file in memory, to be read only; NULL where it fails. */
void *os_map(int descriptor, size_t size);
void os_unmap(void *start, size_t size);

/* The one path of a file, without links; NULL where there is none. */
char *os_real_path(const char *path);
/* Where this user's programs keep what they can make again; NULL where there is no place for it. */
char *os_cache_folder(void);
void os_make_folder(const char *path); /* for this user alone; where it fails, no file can be made in it */
FILE *os_fopen(const char *path, const char *mode);
int os_replace(const char *from, const char *to); /* renames, over a file that is there; 0: done */
void os_remove(const char *path);

/* A variable of the environment, NULL where it is not there. */
char *os_variable(const char *name);
/* Sets one that is not there, for the libraries of this process. */
void os_set_default(const char *name, const char *value);
long os_process(void); /* its number */
/* The words of the command line of a program's `main`. Text that it prints is UTF-8 from here on. */
char **os_arguments(int *count, char **words);
/* The numbers of the cores that this process may use, at most `most`; how many, 0 where that is not known. */
int os_cores(int *cores, int most);

/* Whether a thread that called TVM must not end; then this library stays loaded from the first call on. */
int os_threads_stay(void);

/* A library that the process has, or loads; NULL where that fails: os_load_error has the reason. One thread at a time
 * calls these. */
void *os_loaded(const char *name);
void *os_load(const char *path);
void *os_symbol(void *library, const char *name);
const char *os_load_error(void);

/* What the dynamic loader is given, so that it loads bytes that were checked and no others. */
typedef struct os_checked {
  char *path; /* in ASCII, as TVM takes it */
  void *resource;
} os_checked;

/* path, content and size: of a library whose file is open (os_open), and stays so until it was loaded. 0: done. OS_FAILED: the system
 * could not (memory, a file). OS_REFUSED: the library cannot be loaded here. os_load_error has the reason. */
enum { OS_FAILED = 1, OS_REFUSED = 2 };
int os_check_out(const char *path, const char *content, size_t size, os_checked *made);
void os_check_in(void *checked); /* once it was loaded */

#endif
