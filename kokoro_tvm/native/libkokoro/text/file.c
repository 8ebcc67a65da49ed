#include "file.h"

#include <string.h>

#include "inflate.h"

enum { HEAD = 2, TAIL = 4, MOST_JSON = 1 << 22 }; /* HEAD, TAIL: bytes that zlib puts around packed data */

const tensor *find_tensor(const tensors *file, const char *name) {
  for (int64_t i = 0; i < file->count; ++i)
    if (strcmp(file->all[i].name, name) == 0) return &file->all[i];
  return NULL;
}

const tensor *get_tensor(scope *s, const tensors *file, const char *name, const char *type, int64_t extents) {
  const tensor *result = find_tensor(file, name);
  if (!result || result->type != find_dtype(type) || result->extents != extents ||
      (uintptr_t)result->data % (uintptr_t)result->type->width)
    fail(s, FAILURE_BUNDLE, "The front end of the bundle has no %s that this version reads. Build the bundle again.", name);
  return result;
}

pattern file_pattern(scope *s, const tensors *file, const char *name, const char *sets) {
  return (pattern){get_tensor(s, file, name, "I32", 1)->data, get_tensor(s, file, sets, "I32", 1)->data};
}

size_t unpack(scope *s, const tensor *packed, void *to, size_t most) {
  size_t size = packed->size > HEAD + TAIL ? (size_t)packed->size - HEAD - TAIL : 0;
  size_t result = inflate((const uint8_t *)packed->data + HEAD, size, to, most);
  if (result > most) fail(s, FAILURE_BUNDLE, "The bundle's %s is damaged. Build the bundle again.", packed->name);
  return result;
}

const json *unpack_json(scope *s, const tensor *packed) {
  char why[120] = "", *text = take(s, &s->scratch, MOST_JSON, 1);
  const json *result = parse(s, text, unpack(s, packed, text, MOST_JSON), packed->name, why);
  if (!result) fail(s, FAILURE_BUNDLE, "The bundle's %s is damaged (%s). Build the bundle again.", packed->name, why);
  return result;
}
