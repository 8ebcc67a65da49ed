/* Texts that record where their characters come from (runtime/text/frontend/source.py), and tokens (tokens.py). */
#ifndef KOKORO_SOURCE_H
#define KOKORO_SOURCE_H

#include "characters.h"

/* A requested stress (restress in alphabet.py). AS_IT_IS is None; the others are below -1, -1, -0.5, 0, 0.5, 1, above
 * 1. */
typedef enum stress { AS_IT_IS, MUTED, LOWERED, WEAKER, UNSTRESSED, SLIGHT, STRESSED, STRONG } stress;

/* A request for the characters from start to end: phonemes, stress, flags of a number, or another text. NONE: no
 * request. Not named `link`, which is a POSIX function. */
typedef struct text_link {
  size_t start, end;
  string phonemes, alias, flags;
  stress stress;
} text_link;
typedef LIST(text_link) links;

/* A text in the form that is read, with the source's slice of every character. */
typedef struct source {
  string text;
  const size_t *starts, *ends; /* places in the source, one per character */
  links links;                 /* of markup, in order of their places in `text` */
  int marked;                  /* whether the author can write links */
} source;

/* A slice of a text. */
typedef struct span {
  size_t start, end;
} span;
typedef LIST(span) spans;

/* A replacement of the characters from start to end; an empty slice inserts. */
typedef struct edit {
  size_t start, end;
  string text;
} edit;
typedef LIST(edit) edits;

/* Return a text that is its own source. */
source source_of(work *w, string text);
/* Join non-empty slices of a text with single spaces. */
source join_spans(work *w, const source *from, const spans *kept);
/* Return whether a text has a letter, digit or picture. */
int has_words(work *w, string text);
/* Return whether a text has words, or phonemes of a link. */
int is_speakable(work *w, const source *of);
/* Return whether a link's characters are not read. */
int is_fixed(const text_link *l);

/* Return the source's slice of the characters from `start` to `end`, at least one. */
void span_of(const source *from, size_t start, size_t end, size_t *first, size_t *last);
/* Apply ordered edits that do not overlap. A link keeps its span. */
source apply_edits(work *w, source from, const edits *result);
/* Apply the edits that touch no link. */
source apply_free_edits(work *w, source from, const edits *result);
/* Replace texts of links that have another text. */
source apply_aliases(work *w, source from);

/* Origins of phonemes. */
enum { FROM_NOTHING, FROM_LEXICON, FROM_NAMES, FROM_LETTERS, FROM_SPELLED, FROM_MARK, FROM_RULES, FROM_LATIN, FROM_GIVEN };

/* A word or a mark, see Token of tokens.py. */
typedef struct token {
  string text, phonemes, tag, space; /* space: " " or "" */
  size_t start, end;                 /* in characters of the source */
  int origin;
} token;
typedef LIST(token) tokens;

#endif
