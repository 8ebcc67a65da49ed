/* Which large files were good when they were last read: what kokoro_tvm/runtime/bundle/verification.py remembers. */
#ifndef KOKORO_VERIFIED_H
#define KOKORO_VERIFIED_H

#include "bundle.h"
#include "json.h"
#include "os.h"

/* Where it is written down for the bundle in a folder; NULL where there is no place for it. */
const char *verified_path(scope *s, const char *root);
/* What is written down: an object from identities to digests; NULL where there is nothing readable. */
const json *read_verified(scope *s, const char *path);
int is_verified(scope *s, const json *known, const os_status *status, const char *sha256);
/* Writes down the files above a size, all of which are good. Where that fails, they are read again. */
void write_verified(scope *s, const char *path, file *const *all, const os_status *status, int count,
                    int64_t above);

#endif
