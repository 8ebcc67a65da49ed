/* Files of a bundle, opened, compared with the manifest, and mapped. */
#include "bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20, ALWAYS_READ = 1 << 22 };

typedef struct mapping {
  void *start;
  size_t size;
} mapping;

char *read_path(scope *s, const char *path, size_t *size) {
  int descriptor = os_open(path);
  char *content = NULL;
  size_t room = 0;
  int64_t count = 1;
  if (descriptor < 0) return NULL;
  for (*size = 0; count > 0; *size += (size_t)count) {
    if (*size + 1 >= room) {
      char *more = realloc(content, room = 2 * room + (1 << 16));
      if (!more || room > (size_t)1 << 26) {
        free(more ? more : content);
        os_close(descriptor);
        errno = EFBIG;
        return NULL;
      }
      content = more;
    }
    count = os_read(descriptor, content + *size, room - *size - 1, (int64_t)*size);
    if (count < 0) break;
  }
  int why = errno;
  os_close(descriptor);
  if (count == 0) content[*size] = 0;
  give(s, &s->scratch, free, content);
  errno = why;
  return count < 0 ? NULL : content;
}

static void close_file(void *resource) {
  file *element = resource;
  os_close(element->descriptor);
  element->descriptor = -1;
}

static void unmap(void *resource) {
  mapping *element = resource;
  os_unmap(element->start, element->size);
  free(element);
}

static void check_same(scope *s, const file *element, sha256 *hash) {
  char digest[65];
  sha256_end(hash, digest);
  if (strcmp(digest, element->sha256))
    fail(s, FAILURE_BUNDLE,
         "%s has sha256 %s, but bundle.json says %s: the file was changed or damaged. "
         "Copy or build the bundle again.",
         element->path, digest, element->sha256);
}

/* Hash a file, and store its bytes in `content` unless that is NULL. */
static void hash_file(scope *s, const file *element, char *content) {
  char *chunk = content ? content : take(s, &s->scratch, CHUNK, 1);
  int64_t place = 0, count;
  sha256 hash;
  sha256_begin(&hash);
  do {
    size_t most = content && element->size - place < CHUNK ? (size_t)(element->size - place) : CHUNK;
    count = os_read(element->descriptor, chunk, most, place);
    if (count < 0) fail(s, FAILURE_BUNDLE, "%s cannot be read (%s).", element->path, strerror(errno));
    sha256_add(&hash, chunk, (size_t)count);
    if (content) chunk += count;
    place += count;
  } while (count);
  check_same(s, element, &hash);
}

char *read_file(scope *s, const file *element) {
  char *content = take(s, &s->scratch, (size_t)element->size + 1, 1);
  hash_file(s, element, content);
  return content;
}

static void open_file(scope *s, file *element, os_status *status) {
  if (!element->path) return;
  element->descriptor = os_open(element->path);
  if (element->descriptor < 0 && errno == ENOENT)
    fail(s, FAILURE_BUNDLE, "%s is missing from the bundle. Copy the bundle again, all of it.", element->path);
  if (element->descriptor < 0)
    fail(s, FAILURE_BUNDLE, "%s cannot be read (%s). Make it readable, or copy the bundle again.", element->path,
         strerror(errno));
  give(s, &s->scratch, close_file, element);
  if (os_status_of(element->descriptor, status) || !status->is_file)
    fail(s, FAILURE_BUNDLE, "%s is not a regular file. Copy the bundle again.", element->path);
  if (status->size != element->size)
    fail(s, FAILURE_BUNDLE, "%s has %lld bytes, but bundle.json says %lld. Copy the bundle again.", element->path,
         (long long)status->size, (long long)element->size);
}

void open_files(scope *s, manifest *bundle) {
  file *all[4 + COMPONENTS];
  os_status status[4 + COMPONENTS], ignored;
  int count = 0;
  all[count++] = &bundle->voices;
  all[count++] = &bundle->front_end;
  for (int i = 0; i < COMPONENTS; ++i) all[count++] = &bundle->components[i].weights;
  for (int i = 0; i < count; ++i) open_file(s, all[i], &status[i]);
  open_file(s, &bundle->runtime, &ignored);
  open_file(s, &bundle->ffi, &ignored);
  for (int i = 0; i < COMPONENTS; ++i)
    for (int64_t j = 0; j < bundle->components[i].count; ++j)
      open_file(s, &bundle->components[i].libraries[j].file, &ignored);
  for (int64_t i = 0; i < bundle->programs; ++i) {
    open_file(s, &bundle->libkokoro[i], &ignored);
    hash_file(s, &bundle->libkokoro[i], NULL);
  }
  /* Libraries are hashed when they are loaded. Weights are hashed here, unless the record says that they are right. */
  const char *memory = verified_path(s, bundle->root);
  const json *known = read_verified(s, memory);
  int all_known = 1;
  for (int i = 0; i < count; ++i) {
    if (!all[i]->path) continue;
    if (all[i]->size > ALWAYS_READ && is_verified(s, known, &status[i], all[i]->sha256)) continue;
    hash_file(s, all[i], NULL);
    if (all[i]->size > ALWAYS_READ) all_known = 0;
  }
  if (!all_known) write_verified(s, memory, all, status, count, ALWAYS_READ);
}

tensors map_tensors(scope *s, const file *element) {
  if (element->size < 1) fail(s, FAILURE_BUNDLE, "%s is empty. Copy or build the bundle again.", element->path);
  mapping *mapped = malloc(sizeof *mapped);
  if (!mapped) fail_memory(s);
  mapped->size = (size_t)element->size;
  mapped->start = os_map(element->descriptor, mapped->size);
  if (!mapped->start) {
    free(mapped);
    fail(s, FAILURE_SYSTEM, "%s cannot be mapped (%s).", element->path, strerror(errno));
  }
  give(s, s->kept, unmap, mapped);
  return read_tensors(s, element, mapped->start);
}
