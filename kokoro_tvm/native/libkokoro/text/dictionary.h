/* Words to entries in the bundle's front-end file (runtime/text/frontend/dictionary.py says how they are laid out). */
#ifndef KOKORO_DICTIONARY_H
#define KOKORO_DICTIONARY_H

#include "file.h"

enum { DICTIONARY_BLOCK = 4096, DICTIONARY_CHARS = 256 };

typedef struct dictionary {
  int32_t alphabet[DICTIONARY_CHARS]; /* byte -> code point */
  int chars;
  size_t blocks;
  const uint8_t *index, *words, *stream;
} dictionary;

/* Checks the index, not what is packed. Fails with FAILURE_BUNDLE where there is no such tensor, or a damaged one. */
dictionary open_dictionary(scope *s, const tensors *file, const char *name);

/* Bytes of its longest word. Fails with FAILURE_BUNDLE where it is damaged. */
size_t longest_word(scope *s, const dictionary *from);

/* A dictionary with the blocks that a call has unpacked. */
typedef struct opened {
  work *w;
  const dictionary *from;
  struct plain *plain; /* blocks, empty until they are used */
} opened;

/* What stands beside a word; `at` is NULL where there is no such word. */
typedef struct entry {
  const uint8_t *at;
  size_t size;
  const dictionary *from;
} entry;

opened use_dictionary(work *w, const dictionary *from);
/* The entry of a word as it is written here, capitals and all. Fails with FAILURE_BUNDLE where its block is damaged. */
entry find_entry(opened *in, string word);
/* Whether an entry has texts by name; whether it has a name; its one text, or that of a name, NONE without one. */
int is_named(entry found);
int has_name(entry found, string name);
string text_of(work *w, entry found);
string text_of_name(work *w, entry found, string name);

#endif
