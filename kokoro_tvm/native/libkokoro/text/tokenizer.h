/* Tokenizer of words and marks, as spaCy's (runtime/text/frontend/tokenizer.py). */
#ifndef KOKORO_TOKENIZER_H
#define KOKORO_TOKENIZER_H

#include "dictionary.h"

typedef struct piece {
  string text, norm; /* norm: "" for the one of its spelling */
  size_t start;
  int space; /* whether a space follows */
} piece;
typedef LIST(piece) pieces;

typedef struct tokenizer {
  pattern prefix, suffix, infix, url;
  dictionary exceptions;
  size_t longest; /* characters of the longest exception */
} tokenizer;

/* Fails with FAILURE_BUNDLE. */
tokenizer open_tokenizer(scope *s, const tensors *file);

/* Split a text into pieces: everything except single spaces. */
pieces split(work *w, const tokenizer *t, opened *exceptions, string text);

#endif
