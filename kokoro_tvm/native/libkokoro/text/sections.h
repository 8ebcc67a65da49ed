/* Sentences of a text with markup (runtime/text/markup/passages.py). */
#ifndef KOKORO_SECTIONS_H
#define KOKORO_SECTIONS_H

#include "items.h"
#include "omissions.h"

/* A part of a text, what ends it, and the silence that is requested after it. Without characters, it is a pause. */
typedef struct styled_passage {
  source source;                       /* with places in the whole text */
  const speaking_style *const *styles; /* of every character, all in one voice */
  boundary ends;
  double pause; /* seconds; -1: none is requested */
  int joined;   /* whether no space separates it from the passage before */
} styled_passage;

/* The voice of a passage; NONE: the request's. */
string voice_of(const styled_passage *passage);

/* Text up to the next break, with places, styles and links of its characters. The passages of `shown` are read, in which
 * the characters of a link with phonemes or an alias look like one word. */
typedef struct section_buffer {
  int32_t *text, *shown;
  size_t *starts, *ends, count, room;
  const speaking_style **styles;
  links links;
  work work;
  arena memory; /* of `work` */
  size_t done;  /* characters that were taken */
} section_buffer;

/* A reader of sentences. A passage lives until the call after the next. */
typedef struct sections {
  markup markup;
  omissions omissions;
  markup_items items; /* that were parsed; those before `place` are in the buffer */
  size_t place;
  arena parsed; /* of the items */
  section_buffer buffer;
  passages passages;
  int complete;     /* whether the buffer holds the last section */
  int touches;      /* whether no space separates the text from the last passage */
  markup_item next; /* the break that ends the section */
  markup_item breaks; /* since the pending passage */
  int has_pending, has_later, ended;
  styled_passage pending, later; /* pending: before breaks, so that its end is not known yet; later: the next result */
  arena memory[2]; /* of the last two passages */
  int turn;
} sections;

void begin_sections(sections *all);
/* Get the next sentence as soon as its end is certain; breaks end a sentence too. Consecutive pauses add up. Fails with
 * FAILURE_INPUT for invalid markup, and for too long a pause. */
progress next_sentence(work *w, sections *all, styled_passage *result);
void end_sections(sections *all);

#endif
