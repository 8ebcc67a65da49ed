/* The metadata in a compiled library, read from its bytes as data, as in kokoro_tvm/runtime/bundle/executable.py. */
#include "bundle.h"

#include <string.h>

enum { INT = 1, FLOAT = 3, DTYPE = 5, STRING = 65, SHAPE = 69, TENSOR = 70 }; /* TVMFFITypeIndex */
static const char KIND[] = "relax.VMExecutable";
static const uint64_t MAGIC = 0xD225DE2F4214151D, WITH_SCOPES = 0xD225DE2F4214151E,
                      TENSOR_MAGIC = 0xDD5E40F096B4A13F;

typedef struct reader {
  scope *s;
  const char *path, *at, *end;
} reader;

NORETURN static void refuse(scope *s, const char *path, const char *why) {
  fail(s, FAILURE_BUNDLE, "%s is not a library that kokoro-tvm compiled (%s). Build or copy it again.", path, why);
}

static const char *skip(reader *r, uint64_t count) {
  if (count > (uint64_t)(r->end - r->at)) refuse(r->s, r->path, "its executable is cut short");
  r->at += count;
  return r->at - count;
}

/* Read a little-endian number. */
static uint64_t number(reader *r, int size) {
  const unsigned char *bytes = (const unsigned char *)skip(r, (uint64_t)size);
  uint64_t value = 0;
  while (size--) value = value << 8 | bytes[size];
  return value;
}

static void skip_text(reader *r) { skip(r, number(r, 8)); }

static void skip_many(reader *r, uint64_t count, uint64_t size) {
  if (size && count > (uint64_t)(r->end - r->at) / size) refuse(r->s, r->path, "its executable is cut short");
  skip(r, count * size);
}

/* Find the only executable in a library. */
static reader find_block(scope *s, const char *path, const char *content, int64_t size) {
  char mark[8 + sizeof KIND - 1] = {sizeof KIND - 1};
  reader result = {s, path, NULL, NULL};
  int count = 0;
  memcpy(mark + 8, KIND, sizeof KIND - 1);
  const char *end = content + size;
  for (const char *at = content; end - at > (ptrdiff_t)sizeof mark + 16; ++at) {
    at = memchr(at, mark[0], (size_t)(end - at) - sizeof mark - 16);
    if (!at) break;
    if (memcmp(at, mark, sizeof mark)) continue;
    reader r = {s, path, at + sizeof mark, end};
    uint64_t length = number(&r, 8);
    const char *start = r.at;
    uint64_t magic = number(&r, 8);
    if ((magic != MAGIC && magic != WITH_SCOPES) || length > (uint64_t)(end - start) || length < 8) continue;
    result.at = start;
    result.end = start + length;
    ++count;
  }
  if (count != 1) refuse(s, path, "it does not hold one executable of TVM's virtual machine");
  return result;
}

/* Return a text as a manifest, or NULL for something else, such as a table of kernels. */
static const json *as_manifest(scope *s, const char *path, const char *text, uint64_t size) {
  char why[120];
  if (size == 0 || *text != '{') return NULL;
  const json *value = parse(s, text, size, path, why);
  if (!value || value->kind != OBJECT) return NULL;
  for (const json *item = value->first; item; item = item->next)
    if (strcmp(item->key, "component") == 0 && item->kind == TEXT) return value;
  return NULL;
}

static const json *read_constants(reader *r) {
  const json *result = NULL;
  int count = 0;
  for (uint64_t left = number(r, 8); left; --left) {
    uint64_t kind = number(r, 4), size;
    const json *manifest;
    switch (kind) {
      case STRING:
        size = number(r, 8);
        manifest = as_manifest(r->s, r->path, skip(r, size), size);
        if (manifest) result = manifest, ++count;
        break;
      case INT:
      case FLOAT: skip(r, 8); break;
      case DTYPE: skip(r, 4); break;
      case SHAPE: skip_many(r, number(r, 8), 8); break;
      case TENSOR:
        if (number(r, 8) != TENSOR_MAGIC) refuse(r->s, r->path, "a tensor among its constants is damaged");
        skip(r, 8 + 8); /* reserved; device */
        size = number(r, 4);
        skip(r, 4); /* dtype */
        skip_many(r, size, 8);
        skip(r, number(r, 8));
        break;
      default: refuse(r->s, r->path, "it has a constant of an unknown type");
    }
  }
  if (count != 1) refuse(r->s, r->path, "its executable does not hold one manifest");
  return result;
}

static const json *read_manifest(scope *s, const char *path, const char *content, int64_t size) {
  reader r = find_block(s, path, content, size);
  uint64_t magic = number(&r, 8);
  skip_text(&r); /* version of the virtual machine, which the runtime checks when it loads the library */
  for (uint64_t left = number(&r, 8); left; --left) { /* functions */
    skip(&r, 4);
    skip_text(&r);
    skip(&r, 4 * 8); /* first and last instruction, arguments, registers */
    for (uint64_t names = number(&r, 8); names; --names) skip_text(&r);
  }
  if (magic == WITH_SCOPES)
    for (uint64_t left = number(&r, 8); left; --left) {
      skip(&r, 8);
      skip_text(&r);
    }
  return read_constants(&r);
}

static void check(scope *s, const char *path, const json *result, const char *key, const char *expected) {
  const char *value = "nothing";
  for (const json *item = result->first; item; item = item->next)
    if (strcmp(item->key, key) == 0 && item->kind == TEXT) value = item->text;
  if (strcmp(value, expected))
    fail(s, FAILURE_BUNDLE, "%s was compiled with %s '%s', but bundle.json says '%s'. Build the bundle again.", path,
         key, value, expected);
}

void check_library(scope *s, const manifest *bundle, const component *component, const library *library,
                   const char *content) {
  const char *path = library->file.path;
  const json *result = read_manifest(s, path, content, library->file.size);
  check(s, path, result, "component", component->name);
  int64_t bucket = get(s, result, "bucket", WHOLE)->whole;
  if (bucket != library->bucket)
    fail(s, FAILURE_BUNDLE, "%s was compiled with bucket %lld, but bundle.json says %lld. Build the bundle again.",
         path, (long long)bucket, (long long)library->bucket);
  check(s, path, result, "length", bundle->length_name);
  check(s, path, result, "precision", bundle->precision);
}
