/* What of the bundle's front-end file is read as it stands: tensors by name, and expressions. */
#ifndef KOKORO_FILE_H
#define KOKORO_FILE_H

#include "characters.h"

/* The tensor of a name; NULL where there is none. */
const tensor *find_tensor(const tensors *file, const char *name);
/* The same, of a type ("U8", "I32", "F32") and so many dimensions. Fails with FAILURE_BUNDLE. */
const tensor *get_tensor(scope *s, const tensors *file, const char *name, const char *type, int64_t extents);
/* An expression in a tensor of code, with its classes in another. Fails with FAILURE_BUNDLE. */
pattern file_pattern(scope *s, const tensors *file, const char *name, const char *sets);
/* Unpacks what zlib packed in a tensor of bytes, at most so many; returns how many they are. Fails with FAILURE_BUNDLE. */
size_t unpack(scope *s, const tensor *packed, void *to, size_t most);
/* JSON that zlib packed. Fails with FAILURE_BUNDLE. */
const json *unpack_json(scope *s, const tensor *packed);

#endif
