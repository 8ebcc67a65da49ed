#include "bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "os.h"
#include "sha256.h"
#include "verified.h"

enum { CHUNK = 1 << 20, ALWAYS_READ = 1 << 22 };

typedef struct mapping {
  void *start;
  size_t size;
} mapping;

static void close_file(void *resource) {
  file *each = resource;
  os_close(each->descriptor);
  each->descriptor = -1;
}

static void unmap(void *resource) {
  mapping *each = resource;
  os_unmap(each->start, each->size);
  free(each);
}

static void check_same(scope *s, const file *each, sha256 *hash) {
  char digest[65];
  sha256_end(hash, digest);
  if (strcmp(digest, each->sha256))
    fail(s, KOKORO_BUNDLE,
         "%s has sha256 %s, but bundle.json says %s: the file was changed or damaged. "
         "Copy or build the bundle again.",
         each->path, digest, each->sha256);
}

/* Hashes all bytes of a file, into `content` where that is given. */
static void hash_file(scope *s, const file *each, char *content) {
  char *chunk = content ? content : take(s, &s->scratch, CHUNK, 1);
  int64_t place = 0, count;
  sha256 hash;
  sha256_begin(&hash);
  do {
    size_t most = content && each->size - place < CHUNK ? (size_t)(each->size - place) : CHUNK;
    count = os_read(each->descriptor, chunk, most, place);
    if (count < 0) fail(s, KOKORO_BUNDLE, "%s cannot be read (%s).", each->path, strerror(errno));
    sha256_add(&hash, chunk, (size_t)count);
    if (content) chunk += count;
    place += count;
  } while (count);
  check_same(s, each, &hash);
}

char *read_file(scope *s, const file *each) {
  char *content = take(s, &s->scratch, (size_t)each->size + 1, 1);
  hash_file(s, each, content);
  return content;
}

static void open_file(scope *s, file *each, os_status *status) {
  if (!each->path) return;
  each->descriptor = os_open(each->path);
  if (each->descriptor < 0 && errno == ENOENT)
    fail(s, KOKORO_BUNDLE, "%s is missing from the bundle. Copy the bundle again, all of it.", each->path);
  if (each->descriptor < 0)
    fail(s, KOKORO_BUNDLE, "%s cannot be read (%s). Make it readable, or copy the bundle again.", each->path,
         strerror(errno));
  give(s, &s->scratch, close_file, each);
  if (os_status_of(each->descriptor, status) || !status->is_file)
    fail(s, KOKORO_BUNDLE, "%s is not a regular file. Copy the bundle again.", each->path);
  if (status->size != each->size)
    fail(s, KOKORO_BUNDLE, "%s has %lld bytes, but bundle.json says %lld. Copy the bundle again.", each->path,
         (long long)status->size, (long long)each->size);
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
  /* Code is hashed when it is read, whatever its size; numbers here, unless they are known to be good. */
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

const dtype *find_dtype(const char *name) {
  enum { INT, UINT, FLOAT }; /* DLPack's */
  static const dtype all[] = {{"float64", "F64", FLOAT, 8}, {"float32", "F32", FLOAT, 4}, {"float16", "F16", FLOAT, 2},
                              {"int64", "I64", INT, 8},     {"int32", "I32", INT, 4},     {"uint32", "U32", UINT, 4}, {"uint16", "U16", UINT, 2},
                              {"int8", "I8", INT, 1},       {"uint8", "U8", UINT, 1}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (strcmp(name, all[i].name) == 0 || strcmp(name, all[i].stored) == 0) return &all[i];
  return NULL;
}

static tensor read_tensor(scope *s, const file *each, const json *entry, char *data, int64_t room) {
  const json *shape = get(s, entry, "shape", LIST), *ends = get(s, entry, "data_offsets", LIST);
  tensor made = {.name = format(s, s->kept, "%s", entry->key), .elements = 1};
  made.type = find_dtype(get_text(s, entry, "dtype"));
  int64_t width = made.type ? made.type->width : 0;
  int fits = width && shape->count <= EXTENTS && ends->count == 2 && ends->first->kind == WHOLE &&
             ends->first->next->kind == WHOLE;
  for (const json *extent = shape->first; fits && extent; extent = extent->next) {
    fits = extent->kind == WHOLE && extent->whole >= 0 &&
           (extent->whole == 0 || made.elements <= room / extent->whole);
    if (fits) made.elements *= made.shape[made.extents++] = extent->whole;
  }
  int64_t start = fits ? ends->first->whole : 0, end = fits ? ends->first->next->whole : 0;
  if (!fits || start < 0 || end > room || end < start || end - start != made.elements * width)
    fail(s, KOKORO_BUNDLE,
         "%s: %s does not fit into the file as the header says. Copy or build the bundle again.", each->path,
         made.name);
  made.size = end - start;
  made.data = data + start;
  return made;
}

tensors map_tensors(scope *s, const file *each) {
  if (each->size < 1) fail(s, KOKORO_BUNDLE, "%s is empty. Copy or build the bundle again.", each->path);
  mapping *mapped = malloc(sizeof *mapped);
  if (!mapped) fail_memory(s);
  mapped->size = (size_t)each->size;
  mapped->start = os_map(each->descriptor, mapped->size);
  if (!mapped->start) {
    free(mapped);
    fail(s, KOKORO_SYSTEM, "%s cannot be mapped (%s).", each->path, strerror(errno));
  }
  give(s, s->kept, unmap, mapped);
  return read_tensors(s, each, mapped->start);
}

tensors read_tensors(scope *s, const file *each, void *content) {
  char why[120];
  const unsigned char *bytes = content;
  uint64_t size = 0;
  for (int i = 7; i >= 0 && each->size >= 8; --i) size = size << 8 | bytes[i];
  if (size < 2 || each->size < 8 || size > (uint64_t)each->size - 8 || size > 1 << 26)
    fail(s, KOKORO_BUNDLE, "%s is no safetensors file: its header would be %llu bytes long.", each->path,
         (unsigned long long)size);
  json *header = parse(s, (const char *)bytes + 8, (size_t)size, each->path, why);
  if (!header)
    fail(s, KOKORO_BUNDLE, "%s has an unreadable safetensors header (%s). Build it again.", each->path, why);
  find(s, header, "", TEXT); /* an object */
  tensors made = {take(s, s->kept, (size_t)header->count, sizeof(tensor)), 0};
  for (const json *entry = header->first; entry; entry = entry->next)
    if (strcmp(entry->key, "__metadata__"))
      made.all[made.count++] =
          read_tensor(s, each, entry, (char *)content + 8 + size, each->size - 8 - (int64_t)size);
  return made;
}
