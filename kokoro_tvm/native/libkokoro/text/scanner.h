/* Written forms to the words they are read as (runtime/text/frontend/normalization/scanner.py, templates.py). */
#ifndef KOKORO_SCANNER_H
#define KOKORO_SCANNER_H

#include "language.h"

/* What is said otherwise than it is written, and how. */
typedef LIST(pair) changes;

/* What of a text is said otherwise than it is written, but for what a link gives phonemes for; `changed` gets the words
 * with other letters. */
edits scan_forms(work *w, const language *l, const source *from, changes *changed);

/* templates.c: the words of a form whose groups are `found`, in the text of a scan. `read` reads a part by the rules. */
typedef struct form {
  work *w;
  const language *l;
  const rule *r;
  string text;
  const match *found;
  string (*read)(void *with, string part);
  void *with;
} form;
string say_form(const form *f);

#endif
