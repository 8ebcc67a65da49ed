/* Letter-to-sound by rules, of languages whose spelling says how they sound (runtime/text/frontend/sounds.py). */
#ifndef KOKORO_SOUNDS_H
#define KOKORO_SOUNDS_H

#include "language.h"

typedef struct sounds sounds; /* read only once it is open: threads may share it */

/* From `sounds.NAME`; NULL where the file has none of it. What is made goes into `s->kept`. Fails with FAILURE_BUNDLE. */
const sounds *open_sounds(scope *s, const tensors *file, const char *name);

/* The words and marks of a text in order, with their places in its source (`converted` of languages.py). A word in Latin
 * letters of a language that has others stays as it is, FROM_LATIN. Fails with FAILURE_BUNDLE where rules lose a word. */
tokens read_sounds(work *w, const sounds *of, const source *text);

#endif
