/* os.h on Linux, with os_posix.c. */
#define _GNU_SOURCE /* memfd_create and thread affinity */
#include "os.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char OS_FFI[] = "libtvm_ffi.so", OS_RUNTIME[] = "libtvm_runtime.so";

int os_cores(int *cores, int most) {
  cpu_set_t usable;
  int count = 0;
  if (sched_getaffinity(0, sizeof usable, &usable)) return 0;
  for (int core = 0; core < CPU_SETSIZE && count < most; ++core)
    if (CPU_ISSET(core, &usable)) cores[count++] = core;
  return count;
}

/* Create a sealed file in memory, which nobody can change. The loader compares paths first, and descriptors are reused.
 * So the path contains a serial number: "/" for each 0 bit, "/." for each 1 bit. */
int os_check_out(const char *path, const char *content, size_t size, os_checked *result) {
  static unsigned serial;
  enum { ROOM = 128 };
  const char *name = strrchr(path, '/');
  int descriptor = memfd_create(name ? name + 1 : path, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  result->resource = (void *)(intptr_t)descriptor;
  result->path = malloc(ROOM);
  dlerror(); /* from here on errno has the reason */
  size_t written = 0;
  for (ssize_t count = 1; descriptor >= 0 && count > 0 && written < size; written += count > 0 ? (size_t)count : 0)
    count = write(descriptor, content + written, size - written);
  if (descriptor < 0 || !result->path || written < size ||
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)) {
    os_check_in(result);
    return OS_FAILED;
  }
  size_t used = (size_t)snprintf(result->path, ROOM, "/proc/self/fd");
  for (unsigned digits = ++serial; digits; digits >>= 1)
    used += (size_t)snprintf(result->path + used, ROOM - used, digits & 1 ? "/." : "/");
  snprintf(result->path + used, ROOM - used, "/%d", descriptor);
  return 0;
}

void os_check_in(void *checked) {
  os_checked *result = checked;
  int descriptor = (int)(intptr_t)result->resource;
  if (descriptor >= 0) close(descriptor);
  free(result->path);
}
