/* Written forms to words (runtime/text/frontend/normalization/scanner.py, templates.py). */
#ifndef KOKORO_SCANNER_H
#define KOKORO_SCANNER_H

#include "english.h"
#include "language.h"

/* Texts that are read differently than written, and how. */
typedef LIST(pair) changes;

/* Return edits of the written forms of a text, except where a link gives phonemes; `changed` gets words with replaced
 * letters. e: NULL for a language without parts of speech. */
edits scan_forms(work *w, const language *l, const english *e, const source *from, changes *changed);

/* templates.c: a form with its groups `found`. `read` reads a part by the rules. */
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
