/* Data as zlib packs it (RFC 1951), a piece of a flushed stream at a time. */
#ifndef KOKORO_INFLATE_H
#define KOKORO_INFLATE_H

#include <stddef.h>
#include <stdint.h>

/* Unpacks all of `in`, which begins with a block and shares nothing with what stood before it; returns how many bytes
 * it had, or (size_t)-1 where it is damaged or more than `most`. */
size_t inflate(const uint8_t *in, size_t size, uint8_t *out, size_t most);

#endif
