#include "inflate.h"

#include <string.h>

enum { LONGEST = 15, QUICK = 9, LITERALS = 288, DISTANCES = 32, LENGTHS = 19, END = 256 };

typedef struct input {
  const uint8_t *at, *end;
  uint32_t bits; /* unread bits, the next one lowest */
  int count;
  int missing; /* bytes needed after the end */
} input;

/* A Huffman code: symbols in order of their codes, by length; and a table of the next QUICK bits with 16 * symbol +
 * length, 0 for longer codes. */
typedef struct code {
  uint16_t counts[LONGEST + 1], symbols[LITERALS], quick[1 << QUICK];
} code;

/* Buffer `count` bits; after the end they are 0. */
static void need(input *in, int count) {
  for (; in->count < count; in->count += 8)
    if (in->at < in->end) in->bits |= (uint32_t)*in->at++ << in->count;
    else ++in->missing;
}

static uint32_t take_bits(input *in, int count) {
  need(in, count);
  uint32_t removed = in->bits & ((1u << count) - 1);
  in->bits >>= count;
  in->count -= count;
  return removed;
}

/* Return whether bits after the end were used. */
static int is_over(const input *in) { return 8 * in->missing > in->count; }

/* Return whether the lengths form a code. */
static int make_code(code *result, const uint8_t *lengths, int count) {
  uint16_t first[LONGEST + 2] = {0};
  int left = 1, next[LONGEST + 2] = {0};
  memset(result->counts, 0, sizeof result->counts);
  for (int i = 0; i < count; ++i) ++result->counts[lengths[i]];
  result->counts[0] = 0;
  for (int length = 1; length <= LONGEST; ++length) {
    left = 2 * left - result->counts[length];
    if (left < 0) return 0;
    first[length + 1] = (uint16_t)(first[length] + result->counts[length]);
    next[length + 1] = (next[length] + result->counts[length]) << 1;
  }
  memset(result->quick, 0, sizeof result->quick);
  for (int i = 0; i < count; ++i) {
    int length = lengths[i], bits = 0;
    if (!length) continue;
    result->symbols[first[length]++] = (uint16_t)i;
    for (int bit = 0; bit < length; ++bit) bits |= (next[length] >> bit & 1) << (length - 1 - bit);
    ++next[length];
    for (; length <= QUICK && bits < 1 << QUICK; bits += 1 << length) result->quick[bits] = (uint16_t)(16 * i + length);
  }
  return 1;
}

/* Return the next symbol, or -1. */
static int symbol_of(input *in, const code *from) {
  int bits = 0, first = 0, index = 0;
  need(in, QUICK);
  int quick = from->quick[in->bits & ((1 << QUICK) - 1)];
  if (quick) return take_bits(in, quick & 15), quick >> 4;
  for (int length = 1; length <= LONGEST; ++length) {
    bits |= (int)take_bits(in, 1);
    int count = from->counts[length];
    if (bits - first < count) return from->symbols[index + bits - first];
    index += count;
    first = (first + count) << 1;
    bits <<= 1;
  }
  return -1;
}

static int fixed_codes(code *literals, code *distances) {
  uint8_t lengths[LITERALS];
  for (int i = 0; i < LITERALS; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  make_code(literals, lengths, LITERALS);
  memset(lengths, 5, DISTANCES);
  return make_code(distances, lengths, DISTANCES);
}

static int read_codes(input *in, code *literals, code *distances) {
  static const uint8_t order[LENGTHS] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  uint8_t lengths[LITERALS + DISTANCES] = {0};
  int literal_count = (int)take_bits(in, 5) + 257, distance_count = (int)take_bits(in, 5) + 1;
  int length_count = (int)take_bits(in, 4) + 4, all = literal_count + distance_count;
  if (literal_count > 286 || distance_count > 30) return 0;
  for (int i = 0; i < length_count; ++i) lengths[order[i]] = (uint8_t)take_bits(in, 3);
  code of_lengths;
  if (!make_code(&of_lengths, lengths, LENGTHS)) return 0;
  memset(lengths, 0, LENGTHS);
  for (int i = 0; i < all;) {
    int symbol = symbol_of(in, &of_lengths), repeated = 0, times = 1;
    if (symbol < 0 || is_over(in) || (symbol == 16 && i == 0)) return 0;
    if (symbol < 16) repeated = symbol;
    if (symbol == 16) repeated = lengths[i - 1], times = 3 + (int)take_bits(in, 2);
    if (symbol == 17) times = 3 + (int)take_bits(in, 3);
    if (symbol == 18) times = 11 + (int)take_bits(in, 7);
    if (times > all - i) return 0;
    while (times--) lengths[i++] = (uint8_t)repeated;
  }
  return make_code(literals, lengths, literal_count) &&
         make_code(distances, lengths + literal_count, distance_count);
}

static int read_compressed(input *in, const code *literals, const code *distances, uint8_t *out, size_t *size,
                           size_t most) {
  for (;;) {
    int symbol = symbol_of(in, literals);
    if (symbol < 0 || is_over(in)) return 0;
    if (symbol == END) return 1;
    if (symbol < END) {
      if (*size == most) return 0;
      out[(*size)++] = (uint8_t)symbol;
      continue;
    }
    /* lengths come in groups of four with one width, distances in groups of two; the longest length has its own symbol */
    int place = symbol - END - 1, more = place < 8 ? 0 : (place >> 2) - 1;
    if (place > 28) return 0;
    size_t length = place == 28 ? 258 : place < 8 ? (size_t)place + 3 : (((size_t)(place & 3) + 4) << more) + 3;
    if (place < 28) length += take_bits(in, more);
    int far = symbol_of(in, distances);
    if (far < 0 || far > 29) return 0;
    more = far < 4 ? 0 : (far >> 1) - 1;
    size_t distance = (far < 4 ? (size_t)far : ((size_t)(far & 1) + 2) << more) + 1;
    distance += take_bits(in, more);
    if (distance > *size || length > most - *size) return 0;
    for (; length; --length, ++*size) out[*size] = out[*size - distance];
  }
}

size_t inflate(const uint8_t *packed, size_t packed_size, uint8_t *out, size_t most) {
  input in = {.at = packed, .end = packed + packed_size};
  size_t size = 0;
  code literals, distances;
  for (int last = 0; !last && in.at < in.end + in.count / 8;) {
    last = (int)take_bits(&in, 1);
    int kind = (int)take_bits(&in, 2);
    if (kind == 0) { /* a stored block: its length, and the complement */
      in.at -= in.count / 8; /* give back the whole bytes of the buffer */
      if (in.missing) return (size_t)-1;
      in.bits = 0, in.count = 0;
      if (in.end - in.at < 4) return (size_t)-1;
      size_t length = in.at[0] | (size_t)in.at[1] << 8, other = in.at[2] | (size_t)in.at[3] << 8;
      in.at += 4;
      if (length != (other ^ 0xFFFF) || length > (size_t)(in.end - in.at) || length > most - size) return (size_t)-1;
      if (length) memcpy(out + size, in.at, length);
      in.at += length, size += length;
      continue;
    }
    int good = kind == 1   ? fixed_codes(&literals, &distances)
               : kind == 2 ? read_codes(&in, &literals, &distances)
                           : 0;
    if (!good || !read_compressed(&in, &literals, &distances, out, &size, most)) return (size_t)-1;
  }
  return size;
}
