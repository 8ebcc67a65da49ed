/* Sentences of a text (runtime/text/passages.py, abbreviations.py). */
#ifndef KOKORO_PASSAGES_H
#define KOKORO_PASSAGES_H

#include "characters.h"

/* What ends where a text is divided: the pause depends on it. */
typedef enum boundary { CLAUSE, SENTENCE, PARAGRAPH, END_OF_TEXT } boundary;

/* A text of which one passage after the other is read. */
typedef struct passages {
  string text;
  size_t place;
  size_t breaks, mark; /* line breaks before the place; length of the mark of the block that stands there */
  int one_line, numbered;
} passages;

passages passages_of(string text);
/* The next passage as a slice of the text, without space at both ends; 0: none is left. */
int next_passage(work *w, passages *of, size_t *start, size_t *end, boundary *ends);

/* Whether a text ends with an abbreviation or an initial in front of its point, which `found` gets in small letters. */
int abbreviation_in(work *w, string before, string *found);
/* Whether a sentence begins with the word that `after` begins with, behind an abbreviation and its point. */
int begins_sentence(work *w, string after, string abbreviation);

#endif
