/* Interface of this folder: utterances of a text and the silence between them (runtime/speech/sentences.py,
 * division.py, planning.py, joins.py). Nothing here knows the model: a planner gets a function that predicts. */
#ifndef KOKORO_TEXT_H
#define KOKORO_TEXT_H

#include "front_end.h"
#include "passages.h"

/* A word or a mark. text: as in the source; start, end: characters of the source; space: symbols up to the next word. */
typedef struct word {
  string text, phonemes, space;
  size_t start, end;
} word;
typedef LIST(word) words;

/* Words of one utterance and its end. whole: never divided by length. */
typedef struct breath {
  words words;
  boundary ends;
  int whole;
} breath;
typedef LIST(breath) breath_list;

/* Return the symbols of words with phonemes. */
string symbols_of(work *w, const words *all);
int is_spoken(const word *element); /* whether it has a sound; a mark has none */

/* ---- sentences.c: from a passage of a text to the words of its sentences ---- */

/* Return the sentences of a passage that begins at `offset` of the text and ends with `ends`. */
breath_list read_sentences(work *w, const reader *r, string text, size_t offset, boundary ends, notes *notices);
/* Return the utterances of a passage that have phonemes. Notices name the rest. Fails with FAILURE_INPUT. */
utterances read_passage(work *w, const reader *r, const source *from, notes *notices);
/* Return the beginning of a text for a message: one line of `most` characters. */
string quote(work *w, string text, size_t most);

/* division.c: divide at the best place; return 0 if there is none. */
int halve(work *w, const breath *whole, breath *before, breath *after);
/* Return the number of words up to the first clause with at least so many symbols on both sides; 0: none. */
size_t first_clause(work *w, const words *all, size_t least);
/* Return the first words of a breath as a breath. */
breath first_words(work *w, const words *all, size_t count);

/* Append words after a space. */
void join_words(work *w, words *first, const words *more);

/* The plan of an utterance. words: with symbols that the model knows; durations: frames per token, marks at both ends
 * included; symbols: length of the phonemes, which selects the row of a voice; noise: number of the seed's noise; keep:
 * samples that stay of the quiet at both ends, -1 for all; pause: samples of silence after it. */
typedef struct piece {
  words words;
  int64_t *durations;
  size_t tokens, symbols;
  uint32_t noise;
  int64_t keep[2], pause;
} piece;

/* State of planning a text. */
typedef struct planner {
  const reader *reader;
  int (*knows)(void *with, int32_t symbol);                  /* whether the model has the symbol */
  /* set the durations of a piece in memory of `w`; return 0 if it is too long. Fails. */
  int (*predict)(void *with, work *w, piece *of);
  void *with;
  double speed;
  int64_t sample_rate, limits[2]; /* longest utterance in tokens and in frames */
  /* the rest is zero at first */
  passages passages;
  work w;
  arena memory;      /* of `w`: text that is not planned yet */
  breath_list ready; /* sentences that were read; those from `next` on are not planned */
  size_t next;
  breath held;       /* too short to be spoken alone */
  int holds;
  breath_list parts; /* parts of the current breath, the last one first */
  notes notices;
  LIST(int32_t) noted; /* unknown symbols with a notice, in memory of `lasting` */
  arena lasting;
  string seen;           /* the first passage */
  int read, spoken;      /* whether a sentence was read, whether a piece was planned */
  int began;             /* whether a breath was planned: the first one is short */
  int64_t attack;        /* samples kept before the next sound, -1 for all */
  uint32_t number;
} planner;

/* Begin the plan of a text, which has to stay. */
void begin_plan(planner *p, scope *s, string text);
/* Return the next piece, whose words live until the next call; 0 at the end. Notices are in `p->notices`. Fails with
 * FAILURE_INPUT if nothing can be spoken. */
int next_piece(planner *p, scope *s, piece *result);
void end_plan(planner *p);

/* joins.c: return the samples of silence that are cut off before the first and after the last sound. */
void cuts_of(const piece *p, int64_t samples_per_frame, int64_t *before, int64_t *after);
/* Turn the decoder's audio into the piece's samples in place, with silence below marks; return their number. */
int64_t finish_audio(const piece *p, float *audio, int64_t samples_per_frame, int64_t sample_rate);

#endif
