/* SHA-256 (FIPS 180-4). */
#ifndef KOKORO_SHA256_H
#define KOKORO_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct sha256 {
  uint32_t state[8];
  uint64_t size; /* bytes so far */
  unsigned char block[64];
} sha256;

void sha256_begin(sha256 *hash);
void sha256_add(sha256 *hash, const void *data, size_t size);
/* Writes 64 hexadecimal digits and a NUL. */
void sha256_end(sha256 *hash, char digest[65]);

#endif
