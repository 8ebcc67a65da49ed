#include "file.h"

#include <string.h>

const tensor *find_tensor(const tensors *file, const char *name) {
  for (int64_t i = 0; i < file->count; ++i)
    if (strcmp(file->all[i].name, name) == 0) return &file->all[i];
  return NULL;
}

const tensor *get_tensor(scope *s, const tensors *file, const char *name, const char *type, int64_t extents) {
  const tensor *found = find_tensor(file, name);
  if (!found || found->type != find_dtype(type) || found->extents != extents ||
      (uintptr_t)found->data % (uintptr_t)found->type->width)
    fail(s, KOKORO_BUNDLE, "The front end of the bundle has no %s that this version reads. Build the bundle again.", name);
  return found;
}

pattern file_pattern(scope *s, const tensors *file, const char *name, const char *sets) {
  return (pattern){get_tensor(s, file, name, "I32", 1)->data, get_tensor(s, file, sets, "I32", 1)->data};
}
