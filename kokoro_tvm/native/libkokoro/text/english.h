/* The English of the bundle: tokenizer, tagger, lexicon, letter-to-sound (runtime/text/frontend/english.py). */
#ifndef KOKORO_ENGLISH_H
#define KOKORO_ENGLISH_H

#include "source.h"

typedef struct english english; /* read only once it is open: threads may share it */

/* From the tensors of the bundle's front-end file, which have to stay; what is made of them goes into `s->kept`.
 * Fails with FAILURE_BUNDLE where they are of another layout. */
english *open_english(scope *s, const tensors *file, int british);

/* The words and marks of a text in order, with their places in its source (English.convert). A word whose origin is
 * FROM_NOTHING has no phonemes. */
tokens read_english(work *w, const english *e, const source *text);

#endif
