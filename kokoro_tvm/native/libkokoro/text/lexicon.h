/* Words to phonemes: by lexicon (runtime/text/frontend/lexicon.py), else by their letters (letters.py, unknown.py). */
#ifndef KOKORO_LEXICON_H
#define KOKORO_LEXICON_H

#include "dictionary.h"
#include "source.h"

enum { PRIMARY = 0x2C8, SECONDARY = 0x2CC };

/* alphabet.c: the phonemes of both Englishes and how stress is put on them (alphabet.py). */
int is_vowel(int32_t symbol);
int is_consonant(int32_t symbol);
size_t weight_of(string phonemes); /* how long they take to say */

string restress(work *w, string phonemes, stress wanted);

/* What is spoken after a word: begins with a vowel or not, or is a pause or nothing; whether it is "to". */
enum { PAUSE = -1, CONSONANT, VOWEL };
typedef struct context {
  int vowel, to;
} context;

/* One English in a call; `w` holds what outlives a word. */
typedef struct lexicon {
  opened gold, silver, letters;
  int british;
} lexicon;

/* Phonemes of a word as a part of speech; NONE where neither it nor its stem is known. */
string read_word(work *w, lexicon *l, string word, string tag, context after, stress wanted);
/* Whether a word in capitals may be more than a known one written large. */
int is_initialism(work *w, lexicon *l, string word);
/* The names of the letters of a word, the last of them stressed; NONE where one has none. */
string spell(work *w, lexicon *l, string word);
/* The stress that its capitals give a word. */
stress stress_of(work *w, string word);
int begins_with(string text, const char *ascii);
int ends_with(string text, const char *ascii);

/* letters.c: phonemes of a word that no lexicon has, and where they are from (source.h); NONE for none. */
string guess(work *w, lexicon *l, string word, int *origin);

#endif
