/* Words to entries in the bundle's front-end file; see runtime/text/frontend/dictionary.py for the format. */
#ifndef KOKORO_DICTIONARY_H
#define KOKORO_DICTIONARY_H

#include "file.h"

enum { DICTIONARY_BLOCK = 4096, DICTIONARY_CHARS = 256 };

typedef struct dictionary {
  int32_t alphabet[DICTIONARY_CHARS]; /* byte -> code point */
  int chars;
  size_t blocks;
  const uint8_t *index, *words, *stream;
  struct cache *cache; /* unpacked blocks, which stay for later calls */
} dictionary;

/* Check the index, but not the packed blocks. Unpacked blocks are released with `s->kept`. Fails with FAILURE_BUNDLE if the tensor is missing or damaged. */
dictionary open_dictionary(scope *s, const tensors *file, const char *name);

/* Return the bytes of the longest word. Fails with FAILURE_BUNDLE if a block is damaged. */
size_t longest_word(scope *s, const dictionary *from);

/* A dictionary with the memory of a call. */
typedef struct opened {
  work *w;
  const dictionary *from;
} opened;

/* The value of a word. at: NULL if the word is missing. */
typedef struct entry {
  const uint8_t *at;
  size_t size;
  const dictionary *from;
} entry;

opened use_dictionary(work *w, const dictionary *from);
/* Return the entry of exactly this spelling. Fails with FAILURE_BUNDLE if its block is damaged. */
entry find_entry(opened *in, string word);
/* Whether an entry has texts by name; whether it has one name; its only text; the text of a name or NONE. */
int is_named(entry result);
int has_name(entry result, string name);
string text_of(work *w, entry result);
string text_of_name(work *w, entry result, string name);

#endif
