/* Sentences of a text (runtime/text/passages.py, abbreviations.py). */
#ifndef KOKORO_PASSAGES_H
#define KOKORO_PASSAGES_H

#include "characters.h"

/* The end of a division, on which the pause depends. */
typedef enum boundary { CLAUSE, SENTENCE, PARAGRAPH, END_OF_TEXT } boundary;

/* A text that is read passage by passage. */
typedef struct passages {
  string text;
  size_t place;
  size_t breaks, mark; /* line breaks before the place; length of the block mark at the place */
  int one_line, numbered;
} passages;

passages passages_of(string text);
/* Return the next passage as a slice without spaces at both ends; 0 at the end. */
int next_passage(work *w, passages *of, size_t *start, size_t *end, boundary *ends);

/* Return whether a text ends with an abbreviation or an initial before its point; `found` gets it in lower case. */
int abbreviation_in(work *w, string before, string *result);
/* Return whether a sentence begins at `after`, behind an abbreviation and its point. */
int begins_sentence(work *w, string after, string abbreviation);

#endif
