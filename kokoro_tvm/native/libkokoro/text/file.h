/* Access to the front-end file: tensors by name, and expressions. */
#ifndef KOKORO_FILE_H
#define KOKORO_FILE_H

#include "characters.h"

/* Return the tensor of a name, or NULL. */
const tensor *find_tensor(const tensors *file, const char *name);
/* Return the tensor of a name, type ("U8", "I32", "F32") and rank. Fails with FAILURE_BUNDLE. */
const tensor *get_tensor(scope *s, const tensors *file, const char *name, const char *type, int64_t extents);
/* Return an expression from a tensor of code and one of classes. Fails with FAILURE_BUNDLE. */
pattern file_pattern(scope *s, const tensors *file, const char *name, const char *sets);
/* Unpack zlib data of at most `most` bytes and return their number. Fails with FAILURE_BUNDLE. */
size_t unpack(scope *s, const tensor *packed, void *to, size_t most);
/* Unpack and parse JSON. Fails with FAILURE_BUNDLE. */
const json *unpack_json(scope *s, const tensor *packed);

#endif
