/* Decompression of zlib data (RFC 1951) from parts of a flushed stream. */
#ifndef KOKORO_INFLATE_H
#define KOKORO_INFLATE_H

#include <stddef.h>
#include <stdint.h>

/* Unpack all of `in`, which begins with a block and refers to no earlier data. Return the number of bytes, or
 * (size_t)-1 if it is damaged or exceeds `most`. */
size_t inflate(const uint8_t *in, size_t size, uint8_t *out, size_t most);

#endif
