/* Words to phonemes by the lexicon (runtime/text/frontend/lexicon.py) or by letters (letters.py). */
#ifndef KOKORO_LEXICON_H
#define KOKORO_LEXICON_H

#include "dictionary.h"
#include "source.h"

enum { PRIMARY = 0x2C8, SECONDARY = 0x2CC };

/* alphabet.c: phonemes of American and British English, and their stress (alphabet.py). */
int is_vowel(int32_t symbol);
int is_consonant(int32_t symbol);
size_t weight_of(string phonemes); /* time to say them */

string restress(work *w, string phonemes, stress expected);

/* What follows a word: its first sound (a pause if nothing follows), and whether it is "to". */
enum { PAUSE = -1, CONSONANT, VOWEL };
typedef struct context {
  int vowel, to;
} context;

/* One English in a call. Its allocators outlive a word. */
typedef struct lexicon {
  opened gold, silver, names;
  const struct joint_ngrams *letters;
  int british;
} lexicon;

/* Return the phonemes of a word as a part of speech; NONE if word and stem are unknown. */
string read_word(work *w, lexicon *l, string word, string tag, context after, stress expected);
/* The same for a word that is no special case: by its entry or its stem's. */
string read_entry(work *w, lexicon *l, string word, string tag, context after, stress expected);
/* Return whether a word in capitals may be an initialism. */
int is_initialism(work *w, lexicon *l, string word);
/* Append the sound of the ending -s. */
string plural(work *w, const lexicon *l, string phonemes);
/* Return the names of a word's letters, the last one stressed; NONE if a letter has no name. */
string spell(work *w, lexicon *l, string word);
/* Return the stress of a word from its capitals. */
stress stress_of(work *w, string word);
int begins_with(string text, const char *ascii);
int ends_with(string text, const char *ascii);

/* letters.c: guess the phonemes of an unknown word, or NONE; `origin` gets their source. */
string guess(work *w, lexicon *l, string word, int *origin);

#endif
