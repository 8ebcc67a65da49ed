/* os.h on Linux and macOS, except what os_linux.c and os_darwin.c have. */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

int os_open(const char *path) { return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); }

void os_close(int descriptor) { close(descriptor); }

static int64_t nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec; }

int os_status_of(int descriptor, os_status *status) {
  struct stat result;
  if (fstat(descriptor, &result)) return -1;
  status->is_file = S_ISREG(result.st_mode);
  status->size = result.st_size;
  status->device = result.st_dev;
  status->number = result.st_ino;
  status->written = nanoseconds(result.st_mtim);
  status->changed = nanoseconds(result.st_ctim);
  return 0;
}

int os_is_folder(const char *path) {
  struct stat result;
  return stat(path, &result) ? -1 : S_ISDIR(result.st_mode) != 0;
}

int os_is_stream(const char *path) {
  struct stat result;
  return stat(path, &result) == 0 && !S_ISREG(result.st_mode) && !S_ISDIR(result.st_mode);
}

int64_t os_read(int descriptor, void *to, size_t most, int64_t place) {
  return pread(descriptor, to, most, (off_t)place);
}

void *os_map(int descriptor, size_t size) {
  void *start = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  return start == MAP_FAILED ? NULL : start;
}

void os_unmap(void *start, size_t size) { munmap(start, size); }

char *os_real_path(const char *path) { return realpath(path, NULL); }

char *os_cache_folder(void) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *behind = "";
  if (!cache || !*cache) cache = home, behind = "/.cache";
  char *result = cache && *cache ? malloc(strlen(cache) + strlen(behind) + 1) : NULL;
  return result ? strcat(strcpy(result, cache), behind) : NULL;
}

void os_make_folder(const char *path) { mkdir(path, 0700); }

FILE *os_fopen(const char *path, const char *mode) { return fopen(path, mode); }

int os_replace(const char *from, const char *to) { return rename(from, to); }

void os_remove(const char *path) { remove(path); }

char *os_variable(const char *name) {
  const char *result = getenv(name);
  return result ? strdup(result) : NULL;
}

void os_set_default(const char *name, const char *value) { setenv(name, value, 0); }

long os_process(void) { return (long)getpid(); }

char **os_arguments(int *count, char **words) { return (void)count, words; }

int os_threads_stay(void) { return 0; }

void *os_loaded(const char *name) { return dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD); }

/* Restore the handler of SIGSEGV: libtvm_ffi installs its own when it is loaded, and Java and others need theirs. */
void *os_load(const char *path) {
  struct sigaction before;
  int known = sigaction(SIGSEGV, NULL, &before) == 0;
  void *loaded = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (known) sigaction(SIGSEGV, &before, NULL);
  return loaded;
}

void *os_symbol(void *library, const char *name) { return dlsym(library, name); }

const char *os_load_error(void) {
  const char *why = dlerror();
  return why ? why : strerror(errno);
}
