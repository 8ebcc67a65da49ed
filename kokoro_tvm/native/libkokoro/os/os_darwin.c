/* os.h on macOS, with os_posix.c. */
#include "os.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

const char OS_FFI[] = "libtvm_ffi.dylib", OS_RUNTIME[] = "libtvm_runtime.dylib";

/* List all cores: macOS cannot exclude a process from some of them. */
int os_cores(int *cores, int most) {
  int count = 0;
  size_t size = sizeof count;
  if (sysctlbyname("hw.logicalcpu", &count, &size, NULL, 0)) return 0;
  if (count > most) count = most;
  for (int core = 0; core < count; ++core) cores[core] = core;
  return count;
}

/* Write a file for this user alone, which is removed after loading: macOS loads no file from memory. The name is new
 * each time, because dyld would take a known path for the file that it loaded before. */
int os_check_out(const char *path, const char *content, size_t size, os_checked *result) {
  static const char NAME[] = "/kokoro-XXXXXX.dylib";
  const char *folder = getenv("TMPDIR");
  if (!folder || !*folder) folder = "/tmp";
  result->resource = NULL;
  result->path = malloc(strlen(folder) + sizeof NAME);
  dlerror(); /* from here on errno has the reason */
  if (!result->path) return OS_FAILED;
  int descriptor = mkostemps(strcat(strcpy(result->path, folder), NAME), 6, O_CLOEXEC);
  if (descriptor < 0) {
    free(result->path);
    return OS_FAILED;
  }
  size_t written = 0;
  for (ssize_t count = 1; count > 0 && written < size; written += count > 0 ? (size_t)count : 0)
    count = write(descriptor, content + written, size - written);
  (void)path;
  if (close(descriptor) == 0 && written == size) return 0;
  os_check_in(result);
  return OS_FAILED;
}

void os_check_in(void *checked) {
  os_checked *result = checked;
  unlink(result->path);
  free(result->path);
}
