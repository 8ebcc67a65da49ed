/* Print SHA-256 of as many bytes as each argument says, with and without the CPU's instructions, added in growing parts. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
  for (int i = 1; i < count; ++i) {
    size_t size = (size_t)atol(words[i]);
    unsigned char *bytes = malloc(size + 1);
    for (size_t j = 0; j < size; ++j) bytes[j] = (unsigned char)(131 * j + j / 7);
    for (int plain = 0; plain < 2; ++plain) {
      sha256 hash;
      char digest[65];
      sha256_begin(&hash);
      if (plain) hash.fast = 0;
      for (size_t at = 0, part = 0; at < size; at += part) {
        part = 3 * part + 1 < size - at ? 3 * part + 1 : size - at;
        sha256_add(&hash, bytes + at, part);
      }
      sha256_end(&hash, digest);
      puts(digest);
    }
    free(bytes);
  }
  return 0;
}
