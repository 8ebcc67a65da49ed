/* Tensors of a safetensors file. */
#include "base.h"

#include <string.h>

const dtype *find_dtype(const char *name) {
  enum { INT, UINT, FLOAT }; /* DLPack's codes */
  static const dtype all[] = {{"float64", "F64", FLOAT, 8}, {"float32", "F32", FLOAT, 4}, {"float16", "F16", FLOAT, 2},
                              {"int64", "I64", INT, 8},     {"int32", "I32", INT, 4},     {"uint32", "U32", UINT, 4}, {"uint16", "U16", UINT, 2},
                              {"int8", "I8", INT, 1},       {"uint8", "U8", UINT, 1}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (strcmp(name, all[i].name) == 0 || strcmp(name, all[i].stored) == 0) return &all[i];
  return NULL;
}

static tensor read_tensor(scope *s, const file *element, const json *entry, char *data, int64_t room) {
  const json *shape = get(s, entry, "shape", LIST), *ends = get(s, entry, "data_offsets", LIST);
  tensor result = {.name = format(s, s->kept, "%s", entry->key), .elements = 1};
  result.type = find_dtype(get_text(s, entry, "dtype"));
  int64_t width = result.type ? result.type->width : 0;
  int fits = width && shape->count <= EXTENTS && ends->count == 2 && ends->first->kind == WHOLE &&
             ends->first->next->kind == WHOLE;
  for (const json *extent = shape->first; fits && extent; extent = extent->next) {
    fits = extent->kind == WHOLE && extent->whole >= 0 &&
           (extent->whole == 0 || result.elements <= room / extent->whole);
    if (fits) result.elements *= result.shape[result.extents++] = extent->whole;
  }
  int64_t start = fits ? ends->first->whole : 0, end = fits ? ends->first->next->whole : 0;
  if (!fits || start < 0 || end > room || end < start || end - start != result.elements * width)
    fail(s, FAILURE_BUNDLE,
         "%s: %s does not fit into the file as the header says. Copy or build the bundle again.", element->path,
         result.name);
  result.size = end - start;
  result.data = data + start;
  return result;
}

tensors read_tensors(scope *s, const file *element, void *content) {
  char why[120];
  const unsigned char *bytes = content;
  uint64_t size = 0;
  for (int i = 7; i >= 0 && element->size >= 8; --i) size = size << 8 | bytes[i];
  if (size < 2 || element->size < 8 || size > (uint64_t)element->size - 8 || size > 1 << 26)
    fail(s, FAILURE_BUNDLE, "%s is no safetensors file: its header would be %llu bytes long.", element->path,
         (unsigned long long)size);
  json *header = parse(s, (const char *)bytes + 8, (size_t)size, element->path, why);
  if (!header)
    fail(s, FAILURE_BUNDLE, "%s has an unreadable safetensors header (%s). Build it again.", element->path, why);
  find(s, header, "", TEXT); /* fails unless it is an object */
  tensors result = {take(s, s->kept, (size_t)header->count, sizeof(tensor)), 0};
  for (const json *entry = header->first; entry; entry = entry->next)
    if (strcmp(entry->key, "__metadata__"))
      result.all[result.count++] =
          read_tensor(s, element, entry, (char *)content + 8 + size, element->size - 8 - (int64_t)size);
  return result;
}
