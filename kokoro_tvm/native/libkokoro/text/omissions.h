/* Formulas that are read, and text that is left out (runtime/text/markup/formulas.py, omissions.py). */
#ifndef KOKORO_OMISSIONS_H
#define KOKORO_OMISSIONS_H

#include "items.h"

/* Kinds of text that can be left out: bits, in the order of OMISSIONS in omissions.py. */
enum { OMITS_CITATIONS = 1, OMITS_CODE = 2, OMITS_MATH = 4, OMITS_NOTES = 8, OMITTED_KINDS = 4 };

/* Text of one style that later text may change. */
typedef struct omissions {
  unsigned kinds; /* that are left out */
  size_t counts[OMITTED_KINDS];
  int32_t before[3]; /* characters before the text */
  size_t before_count;
  source held;
  const speaking_style *style; /* NULL: no text is held */
  arena memory;                /* of `held` */
} omissions;

/* Append the items with formulas in a line, and without the kinds that are left out. ends: whether no more will come. */
void omit(work *w, omissions *all, const markup_items *items, int ends, markup_items *result);
/* Return the notice about what was left out, or NONE. */
string describe_omissions(work *w, const omissions *all);
void end_omissions(omissions *all);

/* formulas.c: return the match of FORMULAS_FORMULA as a line of Unicode. */
string write_formula(work *w, string text, const match *formula);

#endif
