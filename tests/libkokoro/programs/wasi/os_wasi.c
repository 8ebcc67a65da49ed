/* What text.c needs of an operating system, for WebAssembly with WASI: files are read whole, nothing is remembered. */
#include "os.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verified.h"

int os_open(const char *path) { return open(path, O_RDONLY); }
void os_close(int descriptor) { close(descriptor); }

int os_status_of(int descriptor, os_status *status) {
  struct stat found;
  if (fstat(descriptor, &found)) return -1;
  *status = (os_status){.is_file = 1, .size = found.st_size};
  return 0;
}

int64_t os_read(int descriptor, void *to, size_t most, int64_t place) {
  return pread(descriptor, to, most, (off_t)place);
}

void *os_map(int descriptor, size_t size) {
  char *all = malloc(size);
  for (size_t done = 0; all && done < size;) {
    int64_t count = os_read(descriptor, all + done, size - done, (int64_t)done);
    if (count <= 0) return free(all), NULL;
    done += (size_t)count;
  }
  return all;
}

void os_unmap(void *start, size_t size) {
  (void)size;
  free(start);
}

const char *verified_path(scope *s, const char *root) { return (void)s, (void)root, NULL; }
const json *read_verified(scope *s, const char *path) { return (void)s, (void)path, NULL; }

int is_verified(scope *s, const json *known, const os_status *status, const char *sha256) {
  return (void)s, (void)known, (void)status, (void)sha256, 0;
}

void write_verified(scope *s, const char *path, file *const *all, const os_status *status, int count, int64_t above) {
  (void)s, (void)path, (void)all, (void)status, (void)count, (void)above;
}
