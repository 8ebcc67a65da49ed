/* os.h on Linux. */
#define _GNU_SOURCE /* memfd_create and the affinity of threads */
#include "os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kokoro.h"

const char OS_FFI[] = "libtvm_ffi.so", OS_RUNTIME[] = "libtvm_runtime.so";

static int loads; /* whether the last failure was the dynamic loader's */

int os_open(const char *path) { return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); }

void os_close(int descriptor) { close(descriptor); }

static int64_t nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec; }

int os_status_of(int descriptor, os_status *status) {
  struct stat found;
  if (fstat(descriptor, &found)) return -1;
  status->is_file = S_ISREG(found.st_mode);
  status->size = found.st_size;
  status->device = found.st_dev;
  status->number = found.st_ino;
  status->written = nanoseconds(found.st_mtim);
  status->changed = nanoseconds(found.st_ctim);
  return 0;
}

int os_is_folder(const char *path) {
  struct stat found;
  return stat(path, &found) ? -1 : S_ISDIR(found.st_mode) != 0;
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
  char *made = cache && *cache ? malloc(strlen(cache) + strlen(behind) + 1) : NULL;
  return made ? strcat(strcpy(made, cache), behind) : NULL;
}

void os_make_folder(const char *path) { mkdir(path, 0700); }

FILE *os_fopen(const char *path, const char *mode) { return fopen(path, mode); }

int os_replace(const char *from, const char *to) { return rename(from, to); }

void os_remove(const char *path) { remove(path); }

char *os_variable(const char *name) {
  const char *found = getenv(name);
  return found ? strdup(found) : NULL;
}

void os_set_default(const char *name, const char *value) { setenv(name, value, 0); }

long os_process(void) { return (long)getpid(); }

char **os_arguments(int *count, char **words) { return (void)count, words; }

int os_cores(int *cores, int most) {
  cpu_set_t usable;
  int count = 0;
  if (sched_getaffinity(0, sizeof usable, &usable)) return 0;
  for (int core = 0; core < CPU_SETSIZE && count < most; ++core)
    if (CPU_ISSET(core, &usable)) cores[count++] = core;
  return count;
}

int os_threads_stay(void) { return 0; }

void *os_loaded(const char *name) { return dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD); }

void *os_load(const char *path) {
  loads = 1;
  return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

void *os_symbol(void *library, const char *name) { return dlsym(library, name); }

const char *os_load_error(void) {
  const char *why = loads ? dlerror() : strerror(errno);
  return why ? why : "no reason was given";
}

/* A sealed file in memory, which nobody can change. The loader compares names first, and a descriptor comes again: so
 * the path has a "/" for each 0 of a serial number, a "/." for each 1. */
int os_check_out(const char *path, const char *content, size_t size, os_checked *made) {
  static unsigned serial;
  enum { ROOM = 128 };
  const char *name = strrchr(path, '/');
  int descriptor = memfd_create(name ? name + 1 : path, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  made->resource = (void *)(intptr_t)descriptor;
  made->path = malloc(ROOM);
  loads = 0;
  size_t written = 0;
  for (ssize_t count = 1; descriptor >= 0 && count > 0 && written < size; written += count > 0 ? (size_t)count : 0)
    count = write(descriptor, content + written, size - written);
  if (descriptor < 0 || !made->path || written < size ||
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)) {
    os_check_in(made);
    return KOKORO_SYSTEM;
  }
  size_t used = (size_t)snprintf(made->path, ROOM, "/proc/self/fd");
  for (unsigned digits = ++serial; digits; digits >>= 1)
    used += (size_t)snprintf(made->path + used, ROOM - used, digits & 1 ? "/." : "/");
  snprintf(made->path + used, ROOM - used, "/%d", descriptor);
  return 0;
}

void os_check_in(void *checked) {
  os_checked *made = checked;
  int descriptor = (int)(intptr_t)made->resource;
  if (descriptor >= 0) close(descriptor);
  free(made->path);
}
