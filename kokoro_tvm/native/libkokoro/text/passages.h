/* Sentences of a text that arrives in portions (runtime/text/passages.py, abbreviations.py). */
#ifndef KOKORO_PASSAGES_H
#define KOKORO_PASSAGES_H

#include "characters.h"

/* The end of a division, on which the pause depends. */
typedef enum boundary { CLAUSE, SENTENCE, PARAGRAPH, END_OF_TEXT } boundary;

/* Result of a function that reads a text in portions: more text is needed, there is no more, or a result. */
typedef enum progress { WAITS, ENDS, GIVES } progress;

/* A text that is read passage by passage. */
typedef struct passages {
  string text;         /* as far as it has arrived */
  int complete;        /* whether all of it has */
  size_t place;        /* of the first character that is not read */
  size_t breaks, mark; /* line breaks before the place; length of the block mark at the place */
  int one_line, numbered;
} passages;

/* Begin a text of which nothing has arrived. */
passages begin_passages(void);
/* Get the next passage as a slice without spaces at both ends, as soon as its end is certain. */
progress next_passage(work *w, passages *of, size_t *start, size_t *end, boundary *ends);

/* Return whether a text ends with an abbreviation or an initial before its point; `result` gets it in lower case. */
int abbreviation_in(work *w, string before, string *result);
/* Return whether a sentence begins at `after`, behind an abbreviation and its point. */
int begins_sentence(work *w, string after, string abbreviation);

#endif
