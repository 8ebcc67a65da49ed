/* Texts that remember where their characters come from (runtime/text/frontend/source.py), and tokens (tokens.py). */
#ifndef KOKORO_SOURCE_H
#define KOKORO_SOURCE_H

#include "characters.h"

/* A requested stress (restress in alphabet.py): AS_IT_IS is None, then below -1, -1, -0.5, 0, 0.5, 1, and above. */
typedef enum stress { AS_IT_IS, MUTED, LOWERED, WEAKER, UNSTRESSED, SLIGHT, STRESSED, STRONG } stress;

/* How the characters from start to end are to be spoken: by their phonemes, with another stress, with flags of a number,
 * or as another text. NONE: it does not say. Not called `link`, as a function of POSIX is. */
typedef struct text_link {
  size_t start, end;
  string phonemes, alias, flags;
  stress stress;
} text_link;
typedef LIST(text_link) links;

/* A text as it is to be read, and for every character of it the slice of the source that it stands for. */
typedef struct source {
  string text;
  const size_t *starts, *ends; /* places in the source's characters, as many as `text` has */
  links links;                 /* of markup, in the order of their places, which are places in `text` */
  int marked;                  /* whether whoever wrote it can write links */
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
/* The same, or phonemes of a link. */
int is_speakable(work *w, const source *of);
/* Whether the characters of a link are not read. */
int is_fixed(const text_link *l);

/* Where the characters from `start` to `end` (one at least) come from. */
void span_of(const source *from, size_t start, size_t end, size_t *first, size_t *last);
/* After edits in order, which do not overlap each other. A link keeps what it spans. */
source edited(work *w, source from, const edits *made);
/* After those edits that touch no link. */
source freely_edited(work *w, source from, const edits *made);
/* With other texts in the place of what is to be spoken as they are. */
source aliased(work *w, source from);

/* Where phonemes come from. */
enum { FROM_NOTHING, FROM_LEXICON, FROM_LETTERS, FROM_SPELLED, FROM_MARK, FROM_RULES, FROM_LATIN, FROM_GIVEN };

/* A word or a mark: see Token of tokens.py. */
typedef struct token {
  string text, phonemes, tag, space; /* space: " " or "" */
  size_t start, end;                 /* characters of the source */
  int origin;
} token;
typedef LIST(token) tokens;

#endif
