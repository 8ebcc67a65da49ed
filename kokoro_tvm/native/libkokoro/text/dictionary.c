#include "dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "inflate.h"

enum { SEPARATOR_END, SEPARATOR_NAME, SEPARATOR_TEXT, SEPARATORS };
enum { PACKED, PLAIN, FIRST, COLUMNS }; /* columns of the index */

/* An unpacked block: words, then as many values. Its bytes follow. */
typedef struct plain {
  const uint8_t *start, *end;
  size_t words;
} plain;

static size_t number(const uint8_t *at) {
  return at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

static size_t cell(const dictionary *from, size_t block, int column) {
  return number(from->index + 4 * (COLUMNS * block + (size_t)column));
}

/* The unpacked blocks of a dictionary. Calls of several threads add to them. */
typedef struct cache {
  size_t count;
  struct plain *blocks[];
} cache;

static void release_cache(void *memory) {
  cache *blocks = memory;
  for (size_t i = 0; i < blocks->count; ++i) free(blocks->blocks[i]);
  free(blocks);
}

static cache *open_cache(scope *s, size_t count) {
  cache *result = calloc(1, sizeof *result + count * sizeof *result->blocks);
  if (!result) fail_memory(s);
  result->count = count;
  give(s, s->kept, release_cache, result);
  return result;
}

dictionary open_dictionary(scope *s, const tensors *file, const char *name) {
  const tensor *candidate = get_tensor(s, file, name, "U8", 1);
  const uint8_t *at = candidate->data;
  size_t left = (size_t)candidate->size;
  dictionary result = {.chars = 0};
  int good = left >= 8 && number(at) <= DICTIONARY_CHARS - SEPARATORS && left >= 8 + 4 * number(at);
  if (good) {
    result.chars = (int)number(at) + SEPARATORS;
    for (int i = SEPARATORS; i < result.chars; ++i) result.alphabet[i] = (int32_t)number(at += 4);
    at += 4;
    left -= (size_t)(at - (const uint8_t *)candidate->data);
    result.blocks = number(at);
    good = (left - 4) / (4 * COLUMNS) > result.blocks;
  }
  if (good) {
    result.index = at + 4;
    result.words = result.index + 4 * COLUMNS * (result.blocks + 1);
    left -= 4 + 4 * COLUMNS * (result.blocks + 1);
    result.stream = result.words + cell(&result, result.blocks, FIRST);
    good = cell(&result, result.blocks, FIRST) <= left &&
           cell(&result, result.blocks, PACKED) <= left - cell(&result, result.blocks, FIRST);
  }
  for (int i = SEPARATORS; i < result.chars; ++i)
    good = good && result.alphabet[i] > result.alphabet[i - 1] - (i == SEPARATORS) && result.alphabet[i] <= 0x10FFFF;
  for (size_t i = 0; good && i < result.blocks; ++i)
    good = cell(&result, i, PACKED) <= cell(&result, i + 1, PACKED) && cell(&result, i, FIRST) <= cell(&result, i + 1, FIRST) &&
           cell(&result, i, PLAIN) < cell(&result, i + 1, PLAIN) &&
           cell(&result, i + 1, PLAIN) - cell(&result, i, PLAIN) <= DICTIONARY_BLOCK;
  if (!good) fail(s, FAILURE_BUNDLE, "The dictionary `%s` of the front end is damaged. Build the bundle again.", name);
  result.cache = open_cache(s, result.blocks);
  return result;
}

opened use_dictionary(work *w, const dictionary *from) { return (opened){w, from}; }

static NORETURN void damaged(work *w) {
  fail(w->s, FAILURE_BUNDLE, "A dictionary of the front end is damaged. Build the bundle again.");
}

/* Return the byte of a character, 0 if the alphabet lacks it. */
static uint8_t byte_of(const dictionary *from, int32_t c) {
  int low = SEPARATORS, high = from->chars;
  while (low < high) {
    int middle = (low + high) / 2;
    if (from->alphabet[middle] < c) low = middle + 1;
    else high = middle;
  }
  return low < from->chars && from->alphabet[low] == c ? (uint8_t)low : 0;
}

/* < 0, 0, > 0: order of a block's first word and a key. */
static int order_of(const dictionary *from, size_t block, const uint8_t *key, size_t size) {
  size_t start = cell(from, block, FIRST), length = cell(from, block + 1, FIRST) - start;
  int order = memcmp(from->words + start, key, length < size ? length : size);
  return order ? order : length < size ? -1 : length > size;
}

/* Return the place after the next end mark, which exists. */
static const uint8_t *skip_part(const uint8_t *at) {
  while (*at != SEPARATOR_END) ++at;
  return at + 1;
}

/* Unpack a block to memory of its own; return NULL if it is damaged. */
static plain *unpack_block(scope *s, const dictionary *from, size_t block) {
  size_t start = cell(from, block, PACKED), end = cell(from, block + 1, PACKED), parts = 0;
  size_t size = cell(from, block + 1, PLAIN) - cell(from, block, PLAIN);
  plain *result = malloc(sizeof *result + size);
  if (!result) fail_memory(s);
  uint8_t *bytes = (uint8_t *)(result + 1);
  int good = inflate(from->stream + start, end - start, bytes, size) == size && bytes[size - 1] == SEPARATOR_END;
  for (size_t i = 0; good && i < size; ++i) parts += bytes[i] == SEPARATOR_END;
  if (!good || parts % 2 || *bytes == SEPARATOR_END) {
    free(result);
    return NULL;
  }
  *result = (plain){bytes, bytes + size, parts / 2};
  return result;
}

/* Return a block, unpacked at its first use. */
static const plain *unpacked(opened *in, size_t block) {
  struct plain **at = &in->from->cache->blocks[block];
  plain *result = __atomic_load_n(at, __ATOMIC_ACQUIRE), *other = NULL;
  if (result) return result;
  result = unpack_block(in->w->s, in->from, block);
  if (!result) damaged(in->w);
  if (__atomic_compare_exchange_n(at, &other, result, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return result;
  free(result); /* another thread was faster */
  return other;
}

entry find_entry(opened *in, string word) {
  const dictionary *from = in->from;
  uint8_t key[DICTIONARY_BLOCK];
  entry result = {NULL, 0, from};
  if (word.size > sizeof key) return result;
  for (size_t i = 0; i < word.size; ++i)
    if (!(key[i] = byte_of(from, word.at[i]))) return result;
  size_t low = 0, high = from->blocks;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (order_of(from, middle, key, word.size) <= 0) low = middle + 1;
    else high = middle;
  }
  if (!low) return result;
  const plain *block = unpacked(in, low - 1);
  const uint8_t *at = block->start;
  size_t alike = 0; /* bytes that the key shares with the previous word */
  for (size_t index = 0; index < block->words; ++index, at = skip_part(at)) {
    if (!*at) damaged(in->w);
    size_t shared = (size_t)*at++ - 1;
    if (shared < alike) return result; /* past the key */
    if (shared > alike) continue;
    while (alike < word.size && *at == key[alike]) ++at, ++alike;
    if (*at == SEPARATOR_END && alike == word.size) {
      for (size_t skipped = 0; skipped < block->words; ++skipped) at = skip_part(at);
      result.at = at;
      result.size = (size_t)(skip_part(at) - at) - 1;
      return result;
    }
    if (*at != SEPARATOR_END && (alike == word.size || *at > key[alike])) return result;
  }
  return result;
}

static string decoded_bytes(work *w, const dictionary *from, const uint8_t *at, size_t size) {
  int32_t *result = room(w, size + 1, sizeof *result);
  for (size_t i = 0; i < size; ++i) {
    if (at[i] < SEPARATORS || at[i] >= from->chars) damaged(w);
    result[i] = from->alphabet[at[i]];
  }
  return (string){result, size};
}

int is_named(entry result) { return result.size && *result.at == SEPARATOR_NAME; }

/* Return the place after a name, where its text begins, or NULL. `end` gets the end of the name's part. */
static const uint8_t *find_name(entry result, string name, const uint8_t **end) {
  const uint8_t *at = result.at, *last = at + result.size;
  while (at && at < last) {
    const uint8_t *next = memchr(at + 1, SEPARATOR_NAME, (size_t)(last - at - 1));
    size_t i = 0;
    *end = next ? next : last;
    ++at;
    while (i < name.size && at + i < *end && at[i] >= SEPARATORS && result.from->alphabet[at[i]] == name.at[i]) ++i;
    if (i == name.size && (at + i == *end || at[i] == SEPARATOR_TEXT)) return at + i;
    at = next;
  }
  return NULL;
}

int has_name(entry result, string name) {
  const uint8_t *end;
  return find_name(result, name, &end) != NULL;
}

string text_of(work *w, entry result) {
  return result.at ? decoded_bytes(w, result.from, result.at, result.size) : NONE;
}

string text_of_name(work *w, entry result, string name) {
  const uint8_t *end, *at = find_name(result, name, &end);
  return at && at < end ? decoded_bytes(w, result.from, at + 1, (size_t)(end - at) - 1) : NONE;
}

size_t longest_word(scope *s, const dictionary *from) {
  work w = WORK(s, &s->scratch);
  opened all = use_dictionary(&w, from);
  size_t longest = 0;
  for (size_t block = 0; block < from->blocks; ++block) {
    const plain *words = unpacked(&all, block);
    const uint8_t *at = words->start;
    for (size_t i = 0; i < words->words; ++i) {
      const uint8_t *next = skip_part(at);
      size_t size = (size_t)(next - at) - 2 + (size_t)(*at ? *at - 1 : 0);
      longest = size > longest ? size : longest;
      at = next;
    }
  }
  return longest;
}
