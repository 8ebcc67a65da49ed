/* A text with markup that arrives in portions, as runs of text and breaks (runtime/text/markup/). */
#ifndef KOKORO_ITEMS_H
#define KOKORO_ITEMS_H

#include "messages.h"
#include "passages.h"
#include "source.h"

/* How text is spoken. voice: NONE for the request's; rate, pitch: factors. */
typedef struct speaking_style {
  string voice;
  double rate, pitch;
} speaking_style;

/* A run of text in a style, or a break: style is NULL. ends: decides about the pause if none is requested. */
typedef struct markup_item {
  source run;
  const speaking_style *style;
  boundary ends;
  double pause; /* seconds; -1: none is requested */
} markup_item;
typedef LIST(markup_item) markup_items;

/* What markup may name. */
typedef struct vocabulary {
  void *with;
  int (*knows)(void *with, int32_t symbol); /* whether the model has a symbol */
  /* return the letter of a voice's language, or of the request's for NONE. Fails with FAILURE_INPUT. */
  char (*language)(void *with, work *w, string voice);
} vocabulary;

/* Text that has arrived and is not parsed yet. */
typedef struct input {
  string text;
  const size_t *places; /* in the source: of every character, and of the end */
  size_t line, column;  /* of the first character, from 1 */
  int complete;
  arena memory;
} input;

typedef enum markup_form { UNDECIDED, PLAIN, BRACKETS, SSML } markup_form;

/* A parser of markup. */
typedef struct markup {
  markup_form form;
  vocabulary names;
  input input;
  work lasting;               /* memory of styles; as long as the parser */
  const speaking_style *style; /* of what follows */
  struct ssml *document;
  work *noting; /* memory of notices, as long as the current step */
  notice_list *notices;
} markup;

/* Begin a text. form: UNDECIDED for SSML if it begins like it, else brackets; lasting: memory of styles. */
void begin_markup(markup *m, markup_form form, vocabulary names, work lasting);
/* Append text. places: of every character, and of the end. */
void add_text(markup *m, scope *s, string text, const size_t *places);
/* Append the next items. Fails with FAILURE_INPUT, and line and column, for invalid markup. */
progress next_items(work *w, markup *m, markup_items *items);
void end_markup(markup *m);

/* ---- for parsers ---- */

/* Move line and column of an input over its first characters. */
void advance(input *from, size_t count);
/* Remove the first characters of the input, and return them with their places. */
source take_input(work *w, markup *m, size_t count);
/* Set another style for what follows. */
void set_style(markup *m, speaking_style style);
void put_run(work *w, markup *m, markup_items *items, source run);
void put_break(work *w, markup_items *items, boundary ends, double pause);
/* Let failures begin with a place of the text, until `at_no_place`. */
void at_place(work *w, size_t line, size_t column);
void at_no_place(work *w);
/* Return the text without space at both ends, and with one space for every run of it. */
source collapse_space(work *w, const source *from);

/* brackets.c, ssml.c: append the items of the next part of the input. */
progress next_bracket(work *w, markup *m, markup_items *items);
progress next_element(work *w, markup *m, markup_items *items);

/* ---- values.c: values in markup. Messages say what to write instead. ---- */

/* Parse a time such as "0.5s" to seconds; the message shows `example`. */
double parse_duration(work *w, string value, const char *example);
double parse_rate(work *w, string value);
/* Parse a factor on the pitch, or a change of `around`; return 0 for a pitch in Hz, which changes nothing. */
double parse_pitch(work *w, string value, double around);
/* Return phonemes with single spaces. Fails if the model lacks one. */
string check_symbols(work *w, const vocabulary *names, string phonemes);
/* Convert the International Phonetic Alphabet to the alphabet of a language's voices. */
string convert_ipa(work *w, string phonemes, char letter);

#endif
