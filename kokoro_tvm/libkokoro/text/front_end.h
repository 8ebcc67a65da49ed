/* From text to phonemes, in the language of the voice (runtime/text/frontend/front_end.py, normalization/__init__.py,
 * left_out.py). Text is read as Python reads it without markup, without espeak-ng and without a lexicon of the user. */
#ifndef KOKORO_FRONT_END_H
#define KOKORO_FRONT_END_H

#include "english.h"
#include "language.h"

/* What is open of a language. */
typedef struct reader {
  const english *english;
  const language *forms; /* NULL: the file has none */
} reader;

typedef LIST(string) strings;

/* A text as it is to be read, and the same as it is written, without markup. */
typedef struct normalized {
  source source, plain;
} normalized;

/* forms: NULL leaves written forms as they stand. */
normalized normalize(work *w, source from, const language *forms, strings *notices);

/* The tokens of every paragraph of a text, which may have none; each notice once. */
typedef LIST(tokens) utterances;
utterances read_text(work *w, const reader *r, const source *whole, strings *notices);

/* A notice, unless it is there. */
void add_notice(work *w, strings *notices, string notice);

#endif
