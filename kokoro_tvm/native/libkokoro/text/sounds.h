/* Letter-to-sound by rules, for languages with a phonetic spelling (runtime/text/frontend/sounds.py). */
#ifndef KOKORO_SOUNDS_H
#define KOKORO_SOUNDS_H

#include "language.h"

typedef struct sounds sounds; /* read-only after opening, so threads may share it */

/* Open `sounds.NAME`, or return NULL. Memory is from `s->kept`. Fails with FAILURE_BUNDLE. */
const sounds *open_sounds(scope *s, const tensors *file, const char *name);

/* Return words and marks in order with their places in the source (`converted` of languages.py). A word in Latin
 * letters of a language with another script stays, FROM_LATIN. Fails with FAILURE_BUNDLE if rules lose a word. */
tokens read_sounds(work *w, const sounds *of, const source *text);

#endif
