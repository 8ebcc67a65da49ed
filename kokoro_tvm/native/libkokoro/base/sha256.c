/* SHA-256 (FIPS 180-4). */
#include "base.h"

#include <stdio.h>
#include <string.h>

/* The fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotated(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void add_block(uint32_t state[8], const unsigned char *data) {
  uint32_t w[64], v[8];
  for (int i = 0; i < 16; ++i, data += 4)
    w[i] = (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
  for (int i = 16; i < 64; ++i)
    w[i] = w[i - 16] + w[i - 7] + (rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3) +
           (rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
  memcpy(v, state, sizeof v);
  for (int i = 0; i < 64; ++i) { /* rotate the index instead of moving the words */
    uint32_t *a = &v[-i & 7], *b = &v[(1 - i) & 7], *c = &v[(2 - i) & 7], *d = &v[(3 - i) & 7];
    uint32_t e = v[(4 - i) & 7], f = v[(5 - i) & 7], g = v[(6 - i) & 7], *h = &v[(7 - i) & 7];
    uint32_t sum = *h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i];
    *d += sum;
    *h = sum + (rotated(*a, 2) ^ rotated(*a, 13) ^ rotated(*a, 22)) + ((*a & *b) ^ (*a & *c) ^ (*b & *c));
  }
  for (int i = 0; i < 8; ++i) state[i] += v[i];
}

static void add_blocks(uint32_t state[8], const unsigned char *data, size_t count) {
  for (; count; --count, data += 64) add_block(state, data);
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

static int has_instructions(void) { /* SHA, and SSE 4.1 with SSSE 3 */
  unsigned a, b, c, d, first;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 9 & 1) || !(c >> 19 & 1)) return 0;
  return __get_cpuid_count(7, 0, &a, &first, &c, &d) && (first >> 29 & 1);
}

__attribute__((target("sha,sse4.1,ssse3"))) static void add_blocks_fast(uint32_t state[8], const unsigned char *data,
                                                                        size_t count) {
  const __m128i bytes = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  __m128i dcba = _mm_loadu_si128((const __m128i *)(const void *)state);
  __m128i hgfe = _mm_loadu_si128((const __m128i *)(const void *)(state + 4));
  __m128i cdab = _mm_shuffle_epi32(dcba, 0xB1), efgh = _mm_shuffle_epi32(hgfe, 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; count; --count, data += 64) {
    __m128i w[4], first = abef, second = cdgh;
    for (int i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i)), bytes);
    for (int i = 0; i < 16; ++i) { /* four rounds each */
      __m128i *now = &w[i & 3], *last = &w[(i + 3) & 3];
      __m128i sum = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)(const void *)(K + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
      *now = _mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(i + 1) & 3]), _mm_alignr_epi8(*last, w[(i + 2) & 3], 4));
      *now = _mm_sha256msg2_epu32(*now, *last);
    }
    abef = _mm_add_epi32(abef, first);
    cdgh = _mm_add_epi32(cdgh, second);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#elif defined(__aarch64__) && (defined(__ARM_FEATURE_SHA2) || (defined(__linux__) && !defined(__clang__)))
#include <arm_neon.h>
#ifdef __ARM_FEATURE_SHA2
#define WITH_SHA2
static int has_instructions(void) { return 1; }
#else
#include <sys/auxv.h>
#define WITH_SHA2 __attribute__((target("+crypto")))
static int has_instructions(void) { return getauxval(AT_HWCAP) >> 6 & 1; /* HWCAP_SHA2 */ }
#endif

WITH_SHA2 static void add_blocks_fast(uint32_t state[8], const unsigned char *data, size_t count) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4), w[4];
  for (; count; --count, data += 64) {
    uint32x4_t first = abcd, second = efgh;
    for (int i = 0; i < 4; ++i) w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(data + 16 * i)));
    for (int i = 0; i < 16; ++i) { /* four rounds each */
      uint32x4_t *now = &w[i & 3], sum = vaddq_u32(*now, vld1q_u32(K + 4 * i)), before = abcd;
      abcd = vsha256hq_u32(abcd, efgh, sum);
      efgh = vsha256h2q_u32(efgh, before, sum);
      *now = vsha256su1q_u32(vsha256su0q_u32(*now, w[(i + 1) & 3]), w[(i + 2) & 3], w[(i + 3) & 3]);
    }
    abcd = vaddq_u32(abcd, first);
    efgh = vaddq_u32(efgh, second);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}
#else
static int has_instructions(void) { return 0; }
#define add_blocks_fast add_blocks
#endif

void sha256_begin(sha256 *hash) {
  /* The fractional parts of the square roots of the first 8 primes. */
  static const uint32_t first[8] = {
      0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, first, sizeof first);
  hash->size = 0;
  hash->fast = has_instructions();
}

void sha256_add(sha256 *hash, const void *data, size_t size) {
  const unsigned char *at = data;
  void (*add)(uint32_t[8], const unsigned char *, size_t) = hash->fast ? add_blocks_fast : add_blocks;
  size_t filled = hash->size % 64;
  hash->size += size;
  if (filled) {
    size_t part = size < 64 - filled ? size : 64 - filled;
    memcpy(hash->block + filled, at, part);
    at += part, size -= part;
    if (filled + part < 64) return;
    add(hash->state, hash->block, 1);
  }
  add(hash->state, at, size / 64);
  if (size % 64) memcpy(hash->block, at + size - size % 64, size % 64);
}

void sha256_end(sha256 *hash, char digest[65]) {
  uint64_t bits = hash->size * 8;
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) length[i] = (unsigned char)(bits >> (56 - 8 * i));
  sha256_add(hash, "\x80", 1);
  while (hash->size % 64 != 56) sha256_add(hash, "", 1);
  sha256_add(hash, length, 8);
  for (int i = 0; i < 8; ++i) snprintf(digest + 8 * i, 9, "%08x", (unsigned)hash->state[i]);
}
