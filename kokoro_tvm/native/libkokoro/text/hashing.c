/* The hash of spaCy's strings: MurmurHash64A by Austin Appleby, public domain. */
#include "tagger.h"

#define FACTOR 0xC6A4A7935BD1E995u

uint64_t hash_text(work *w, string text) {
  if (!text.size) return 0;
  const unsigned char *data = (const unsigned char *)encode_utf8(w, text);
  uint64_t size = 0;
  for (size_t i = 0; i < text.size; ++i)
    size += text.at[i] < 0x80 ? 1 : text.at[i] < 0x800 ? 2 : text.at[i] < 0x10000 ? 3 : 4;
  uint64_t state = 1 ^ size * FACTOR;
  for (uint64_t place = 0; place < size; place += 8) {
    uint64_t block = 0;
    for (int i = 7; i >= 0; --i) block = block << 8 | (place + (uint64_t)i < size ? data[place + (uint64_t)i] : 0u);
    if (size - place < 8) {
      state = (state ^ block) * FACTOR;
      break;
    }
    block *= FACTOR;
    state = (state ^ (block ^ block >> 47) * FACTOR) * FACTOR;
  }
  state = (state ^ state >> 47) * FACTOR;
  return state ^ state >> 47;
}
