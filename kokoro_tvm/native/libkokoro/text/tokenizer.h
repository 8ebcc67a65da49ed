/* Splits text into words and marks as spaCy's tokenizer does (runtime/text/frontend/tokenizer.py). */
#ifndef KOKORO_TOKENIZER_H
#define KOKORO_TOKENIZER_H

#include "dictionary.h"

typedef struct piece {
  string text, norm; /* norm: "" for the one that its spelling gives */
  size_t start;
  int space; /* whether one follows */
} piece;
typedef LIST(piece) pieces;

typedef struct tokenizer {
  pattern prefix, suffix, infix, url;
  dictionary exceptions;
  size_t longest; /* characters of an exception */
} tokenizer;

/* Fails with FAILURE_BUNDLE. */
tokenizer open_tokenizer(scope *s, const tensors *file);

/* Everything but single spaces, and whitespace beyond those. */
pieces split(work *w, const tokenizer *t, opened *exceptions, string text);

#endif
