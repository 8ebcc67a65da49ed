/* Differences between operating systems: os_posix.c with os_linux.c or os_darwin.c, and os_windows.c. Paths and all
 * other text are UTF-8. The caller frees a returned `char *`. After an error, errno has the reason unless the comment
 * says otherwise. */
#ifndef KOKORO_OS_H
#define KOKORO_OS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* File names of the TVM runtime. */
extern const char OS_FFI[], OS_RUNTIME[];

/* Metadata of a file. */
typedef struct os_status {
  int is_file;
  int64_t size;
  uint64_t device, number;  /* identity of the file */
  int64_t written, changed; /* POSIX time in nanoseconds of the last change of content, and of anything; 0: unknown */
} os_status;

/* Open a file for reading; return a descriptor or -1. Opening never blocks, and child processes do not inherit it. */
int os_open(const char *path);
void os_close(int descriptor);
int os_status_of(int descriptor, os_status *status); /* 0: success */
int os_is_folder(const char *path); /* 1: a folder, 0: something else, -1: missing */
int os_is_stream(const char *path); /* whether the path leads to a pipe or a device */
/* Read at most `most` bytes at a place; return their number, 0 at the end, -1 on an error. */
int64_t os_read(int descriptor, void *to, size_t most, int64_t place);
/* Map a whole file read-only, or return NULL. */
void *os_map(int descriptor, size_t size);
void os_unmap(void *start, size_t size);

/* Return the path of a file without links, or NULL. */
char *os_real_path(const char *path);
/* Return the user's cache folder, or NULL if there is none. */
char *os_cache_folder(void);
void os_make_folder(const char *path); /* for this user alone; an error shows later, when a file in it cannot be created */
FILE *os_fopen(const char *path, const char *mode);
int os_replace(const char *from, const char *to); /* renames over an existing file; 0: success */
void os_remove(const char *path);

/* Return an environment variable, or NULL. */
char *os_variable(const char *name);
/* Set an environment variable for the libraries of this process unless it is set. */
void os_set_default(const char *name, const char *value);
long os_process(void); /* process id */
/* Return the arguments of `main` as UTF-8. From here on, printed text is UTF-8. */
char **os_arguments(int *count, char **words);
/* List at most `most` cores that this process may use; return their number, 0 if unknown. */
int os_cores(int *cores, int most);

/* Return whether threads that called TVM must not end. Then this library stays loaded from the first call on. */
int os_threads_stay(void);

/* Return a library that the process has, or load it; NULL on an error (os_load_error). Not thread-safe. */
void *os_loaded(const char *name);
void *os_load(const char *path);
void *os_symbol(void *library, const char *name);
const char *os_load_error(void);

/* A path by which the dynamic loader loads verified bytes and no others. */
typedef struct os_checked {
  char *path; /* ASCII, as TVM takes it */
  void *resource;
} os_checked;

/* Make verified bytes loadable. path, content and size: of a library that stays open (os_open) until it is loaded.
 * Return 0, OS_FAILED (no memory or no file) or OS_REFUSED (the library cannot be loaded here); os_load_error has the
 * reason. */
enum { OS_FAILED = 1, OS_REFUSED = 2 };
int os_check_out(const char *path, const char *content, size_t size, os_checked *result);
void os_check_in(void *checked); /* after loading */

#endif
