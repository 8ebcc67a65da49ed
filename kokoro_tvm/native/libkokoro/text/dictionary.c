#include "dictionary.h"

#include <string.h>

#include "inflate.h"

enum { SEPARATOR_END, SEPARATOR_NAME, SEPARATOR_TEXT, SEPARATORS };
enum { PACKED, PLAIN, FIRST, COLUMNS }; /* of the index */

/* A block, unpacked: words, then as many values. */
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

dictionary open_dictionary(scope *s, const tensors *file, const char *name) {
  const tensor *found = get_tensor(s, file, name, "U8", 1);
  const uint8_t *at = found->data;
  size_t left = (size_t)found->size;
  dictionary made = {.chars = 0};
  int good = left >= 8 && number(at) <= DICTIONARY_CHARS - SEPARATORS && left >= 8 + 4 * number(at);
  if (good) {
    made.chars = (int)number(at) + SEPARATORS;
    for (int i = SEPARATORS; i < made.chars; ++i) made.alphabet[i] = (int32_t)number(at += 4);
    at += 4;
    left -= (size_t)(at - (const uint8_t *)found->data);
    made.blocks = number(at);
    good = (left - 4) / (4 * COLUMNS) > made.blocks;
  }
  if (good) {
    made.index = at + 4;
    made.words = made.index + 4 * COLUMNS * (made.blocks + 1);
    left -= 4 + 4 * COLUMNS * (made.blocks + 1);
    made.stream = made.words + cell(&made, made.blocks, FIRST);
    good = cell(&made, made.blocks, FIRST) <= left &&
           cell(&made, made.blocks, PACKED) <= left - cell(&made, made.blocks, FIRST);
  }
  for (int i = SEPARATORS; i < made.chars; ++i)
    good = good && made.alphabet[i] > made.alphabet[i - 1] - (i == SEPARATORS) && made.alphabet[i] <= 0x10FFFF;
  for (size_t i = 0; good && i < made.blocks; ++i)
    good = cell(&made, i, PACKED) <= cell(&made, i + 1, PACKED) && cell(&made, i, FIRST) <= cell(&made, i + 1, FIRST) &&
           cell(&made, i, PLAIN) < cell(&made, i + 1, PLAIN) &&
           cell(&made, i + 1, PLAIN) - cell(&made, i, PLAIN) <= DICTIONARY_BLOCK;
  if (!good) fail(s, FAILURE_BUNDLE, "The dictionary `%s` of the front end is damaged. Build the bundle again.", name);
  return made;
}

opened use_dictionary(work *w, const dictionary *from) {
  return (opened){w, from, room(w, from->blocks + 1, sizeof(plain))};
}

static NORETURN void damaged(work *w) {
  fail(w->s, FAILURE_BUNDLE, "A dictionary of the front end is damaged. Build the bundle again.");
}

/* The byte of a character; 0 where the dictionary has it not. */
static uint8_t byte_of(const dictionary *from, int32_t c) {
  int low = SEPARATORS, high = from->chars;
  while (low < high) {
    int middle = (low + high) / 2;
    if (from->alphabet[middle] < c) low = middle + 1;
    else high = middle;
  }
  return low < from->chars && from->alphabet[low] == c ? (uint8_t)low : 0;
}

/* < 0, 0, > 0: where the first word of a block stands to a key. */
static int order_of(const dictionary *from, size_t block, const uint8_t *key, size_t size) {
  size_t start = cell(from, block, FIRST), length = cell(from, block + 1, FIRST) - start;
  int order = memcmp(from->words + start, key, length < size ? length : size);
  return order ? order : length < size ? -1 : length > size;
}

/* Behind the next end of a part, which there is. */
static const uint8_t *behind(const uint8_t *at) {
  while (*at != SEPARATOR_END) ++at;
  return at + 1;
}

static const plain *unpacked(opened *in, size_t block) {
  plain *made = &in->plain[block];
  if (!made->start) {
    const dictionary *from = in->from;
    size_t start = cell(from, block, PACKED), end = cell(from, block + 1, PACKED), parts = 0;
    size_t size = cell(from, block + 1, PLAIN) - cell(from, block, PLAIN);
    uint8_t *bytes = room(in->w, size, 1);
    if (inflate(from->stream + start, end - start, bytes, size) != size || bytes[size - 1] != SEPARATOR_END)
      damaged(in->w);
    for (size_t i = 0; i < size; ++i) parts += bytes[i] == SEPARATOR_END;
    if (parts % 2 || (*bytes == SEPARATOR_END)) damaged(in->w);
    *made = (plain){bytes, bytes + size, parts / 2};
  }
  return made;
}

entry find_entry(opened *in, string word) {
  const dictionary *from = in->from;
  uint8_t key[DICTIONARY_BLOCK];
  entry found = {NULL, 0, from};
  if (word.size > sizeof key) return found;
  for (size_t i = 0; i < word.size; ++i)
    if (!(key[i] = byte_of(from, word.at[i]))) return found;
  size_t low = 0, high = from->blocks;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (order_of(from, middle, key, word.size) <= 0) low = middle + 1;
    else high = middle;
  }
  if (!low) return found;
  const plain *block = unpacked(in, low - 1);
  const uint8_t *at = block->start;
  size_t alike = 0; /* bytes that the key shares with the word before */
  for (size_t index = 0; index < block->words; ++index, at = behind(at)) {
    if (!*at) damaged(in->w);
    size_t shared = (size_t)*at++ - 1;
    if (shared < alike) return found; /* behind the key */
    if (shared > alike) continue;
    while (alike < word.size && *at == key[alike]) ++at, ++alike;
    if (*at == SEPARATOR_END && alike == word.size) {
      for (size_t skipped = 0; skipped < block->words; ++skipped) at = behind(at);
      found.at = at;
      found.size = (size_t)(behind(at) - at) - 1;
      return found;
    }
    if (*at != SEPARATOR_END && (alike == word.size || *at > key[alike])) return found;
  }
  return found;
}

static string decoded_bytes(work *w, const dictionary *from, const uint8_t *at, size_t size) {
  int32_t *made = room(w, size + 1, sizeof *made);
  for (size_t i = 0; i < size; ++i) {
    if (at[i] < SEPARATORS || at[i] >= from->chars) damaged(w);
    made[i] = from->alphabet[at[i]];
  }
  return (string){made, size};
}

int is_named(entry found) { return found.size && *found.at == SEPARATOR_NAME; }

/* The text of a name; what is behind the name where it has none; NULL where there is no such name. */
static const uint8_t *named(entry found, string name, const uint8_t **end) {
  const uint8_t *at = found.at, *last = at + found.size;
  while (at && at < last) {
    const uint8_t *next = memchr(at + 1, SEPARATOR_NAME, (size_t)(last - at - 1));
    size_t i = 0;
    *end = next ? next : last;
    ++at;
    while (i < name.size && at + i < *end && at[i] >= SEPARATORS && found.from->alphabet[at[i]] == name.at[i]) ++i;
    if (i == name.size && (at + i == *end || at[i] == SEPARATOR_TEXT)) return at + i;
    at = next;
  }
  return NULL;
}

int has_name(entry found, string name) {
  const uint8_t *end;
  return named(found, name, &end) != NULL;
}

string text_of(work *w, entry found) {
  return found.at ? decoded_bytes(w, found.from, found.at, found.size) : NONE;
}

string text_of_name(work *w, entry found, string name) {
  const uint8_t *end, *at = named(found, name, &end);
  return at && at < end ? decoded_bytes(w, found.from, at + 1, (size_t)(end - at) - 1) : NONE;
}

size_t longest_word(scope *s, const dictionary *from) {
  work w = WORK(s, &s->scratch);
  opened all = use_dictionary(&w, from);
  size_t longest = 0;
  for (size_t block = 0; block < from->blocks; ++block) {
    const plain *words = unpacked(&all, block);
    const uint8_t *at = words->start;
    for (size_t i = 0; i < words->words; ++i) {
      const uint8_t *next = behind(at);
      size_t size = (size_t)(next - at) - 2 + (size_t)(*at ? *at - 1 : 0);
      longest = size > longest ? size : longest;
      at = next;
    }
  }
  return longest;
}
