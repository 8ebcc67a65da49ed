/* The English front end: tokenizer, tagger, lexicon, letter-to-sound (runtime/text/frontend/english.py). */
#ifndef KOKORO_ENGLISH_H
#define KOKORO_ENGLISH_H

#include "source.h"

typedef struct english english; /* read-only after opening, so threads may share it */

/* Open it from tensors of the front-end file, which have to stay. Memory is from `s->kept`. Fails with FAILURE_BUNDLE
 * for another layout. */
english *open_english(scope *s, const tensors *file, int british);

/* Return the part of speech of each word of a text as it is written, by the place of its first character. */
const string *find_tags(work *w, const english *e, string text);

/* Return words and marks in order with their places in the source (English.convert). FROM_NOTHING: no phonemes. */
tokens read_english(work *w, const english *e, const source *text);

#endif
