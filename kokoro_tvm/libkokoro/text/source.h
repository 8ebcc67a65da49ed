/* Texts that remember where their characters come from (runtime/text/frontend/source.py), and tokens (tokens.py). */
#ifndef KOKORO_SOURCE_H
#define KOKORO_SOURCE_H

#include "text.h"

/* A text as it is to be read, and for every character of it the slice of the source that it stands for. There are no
 * links: markup is not read here. */
typedef struct source {
  string text;
  const size_t *starts, *ends; /* places in the source's characters, as many as `text` has */
} source;

/* A slice of a text. */
typedef struct span {
  size_t start, end;
} span;
typedef LIST(span) spans;

/* Other characters in the place of those from start to end; both alike insert. */
typedef struct edit {
  size_t start, end;
  string text;
} edit;
typedef LIST(edit) edits;

/* A text that is its own source. */
source source_of(work *w, string text);
/* Slices of a text, none of them empty, with one space for what stands between them. */
source joined_spans(work *w, const source *from, const spans *kept);
/* Whether anything in the text may be spoken: a letter, a figure, a picture. */
int has_words(work *w, string text);

/* Where the characters from `start` to `end` (one at least) come from. */
void span_of(const source *from, size_t start, size_t end, size_t *first, size_t *last);
/* After edits in order, which do not overlap each other. */
source edited(work *w, source from, const edits *made);

/* Where phonemes come from. */
enum { FROM_NOTHING, FROM_LEXICON, FROM_LETTERS, FROM_SPELLED, FROM_MARK, FROM_RULES, FROM_LATIN };

/* A word or a mark: see Token of tokens.py. */
typedef struct token {
  string text, phonemes, tag, space; /* space: " " or "" */
  size_t start, end;                 /* characters of the source */
  int origin;
} token;
typedef LIST(token) tokens;

#endif
