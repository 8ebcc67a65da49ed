/* What os.h says on macOS, beside os_posix.c. */
#include "os.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

const char OS_FFI[] = "libtvm_ffi.dylib", OS_RUNTIME[] = "libtvm_runtime.dylib";

int os_cores(int *cores, int most) { /* all there are: a process cannot be kept from some of them */
  int count = 0;
  size_t size = sizeof count;
  if (sysctlbyname("hw.logicalcpu", &count, &size, NULL, 0)) return 0;
  if (count > most) count = most;
  for (int core = 0; core < count; ++core) cores[core] = core;
  return count;
}

/* A file of this user's alone, removed once it is loaded: macOS loads no file that is in memory only. Its name is new
 * each time, because a path that was loaded before would stand for what was there then. */
int os_check_out(const char *path, const char *content, size_t size, os_checked *made) {
  static const char NAME[] = "/kokoro-XXXXXX.dylib";
  const char *folder = getenv("TMPDIR");
  if (!folder || !*folder) folder = "/tmp";
  made->resource = NULL;
  made->path = malloc(strlen(folder) + sizeof NAME);
  dlerror(); /* from here on errno has the reason */
  if (!made->path) return OS_FAILED;
  int descriptor = mkostemps(strcat(strcpy(made->path, folder), NAME), 6, O_CLOEXEC);
  if (descriptor < 0) {
    free(made->path);
    return OS_FAILED;
  }
  size_t written = 0;
  for (ssize_t count = 1; count > 0 && written < size; written += count > 0 ? (size_t)count : 0)
    count = write(descriptor, content + written, size - written);
  (void)path;
  if (close(descriptor) == 0 && written == size) return 0;
  os_check_in(made);
  return OS_FAILED;
}

void os_check_in(void *checked) {
  os_checked *made = checked;
  unlink(made->path);
  free(made->path);
}
