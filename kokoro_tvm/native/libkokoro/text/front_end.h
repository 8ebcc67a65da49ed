/* Text to phonemes in a language (runtime/text/frontend/front_end.py, normalization/__init__.py, left_out.py), as in
 * Python without espeak-ng and without a lexicon of the user. */
#ifndef KOKORO_FRONT_END_H
#define KOKORO_FRONT_END_H

#include "english.h"
#include "messages.h"
#include "sounds.h"

#define READ_LANGUAGES "abefhip" /* letters of LANGUAGES */

/* The open parts of a language. */
typedef struct reader {
  const char *name;       /* of the language, for messages */
  const english *english; /* NULL: the language is read by `sounds` */
  const sounds *sounds;
  const struct reader *american; /* reads words in Latin letters for other scripts; NULL for English */
  const language *forms;         /* written forms; NULL: the file has none */
} reader;

/* Return the name of a language by its letter, "This" for an unknown one. */
const char *language_name(char letter);
/* Return the reader of a language by its letter, or NULL if the file lacks it. american: the reader of "a", NULL for
 * English. Memory is from `s->kept`. Fails with FAILURE_BUNDLE. */
const reader *open_reader(scope *s, const tensors *file, char letter, const reader *american);

/* A text in the form that is read, and in its written form without markup. */
typedef struct normalized {
  source source, plain;
} normalized;

normalized normalize(work *w, source from, const reader *r, notice_list *notices);

/* The tokens of every paragraph, of which there may be none. Notices are unique. */
typedef LIST(tokens) utterances;
utterances read_text(work *w, const reader *r, const source *whole, notice_list *notices);

#endif
