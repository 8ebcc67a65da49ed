/* Which words of a text are spoken as one utterance, and what is between two (runtime/speech/sentences.py, division.py,
 * planning.py, joins.py). Nothing here knows the model: who plans is given a function that predicts. */
#ifndef KOKORO_TEXT_H
#define KOKORO_TEXT_H

#include "front_end.h"
#include "passages.h"

/* A word or a mark. text: as it stands in the source; start, end: its characters there; space: the symbols between it and
 * the next. */
typedef struct word {
  string text, phonemes, space;
  size_t start, end;
} word;
typedef LIST(word) words;

/* Words that are spoken as one utterance, and what ends them; whole: not to be divided because of its length. */
typedef struct breath {
  words words;
  boundary ends;
  int whole;
} breath;
typedef LIST(breath) breath_list;

/* Symbols of phonemes that words write. */
string symbols_of(work *w, const words *all);
int is_spoken(const word *each); /* whether it has a sound; a mark has none */

/* ---- sentences.c: from a passage of a text to the words of its sentences ---- */

/* The sentences of a passage, which begins at `offset` of the text and is ended by `ends`. */
breath_list read_sentences(work *w, const reader *r, string text, size_t offset, boundary ends, notes *notices);
/* The utterances of a passage that have phonemes; notices say what else was there. Fails with FAILURE_INPUT where it cannot
 * be spoken. */
utterances read_passage(work *w, const reader *r, const source *from, notes *notices);
/* The beginning of a text as a message shows it: in one line, of `most` characters. */
string quoted(work *w, string text, size_t most);

/* division.c: both sides of the best place to divide at; 0: there is none. */
int halve(work *w, const breath *whole, breath *before, breath *after);
/* Words up to the end of the first clause, where both sides have so many symbols; 0: there is none. */
size_t first_clause(work *w, const words *all, size_t least);
/* The first words of a breath as one of its own. */
breath first_words(work *w, const words *all, size_t count);

/* Words behind others, with a space between them. */
void join_words(work *w, words *first, const words *more);

/* What is planned of an utterance: its words with the symbols that the model knows, frames of every one of its tokens, with
 * the marks at both ends; symbols: those that its words wrote, by which a voice has its style; noise: which of the seed's noises it draws; keep: samples that stay of
 * the near silence at both ends, -1 for all of it; pause: samples of silence behind it. */
typedef struct piece {
  words words;
  int64_t *durations;
  size_t tokens, symbols;
  uint32_t noise;
  int64_t keep[2], pause;
} piece;

/* What plans a text. */
typedef struct planner {
  const reader *reader;
  int (*knows)(void *with, int32_t symbol);                  /* whether the model has the symbol */
  /* Gives a piece its durations, of `w`; 0: it is too long. Fails. */
  int (*predict)(void *with, work *w, piece *of);
  void *with;
  double speed;
  int64_t sample_rate, limits[2]; /* the longest utterance: tokens, frames */
  /* What follows begins with zeros. */
  passages passages;
  work w;
  arena memory;      /* of `w`, of what is not planned yet */
  breath_list ready; /* sentences that were read, from number `next` on */
  size_t next;
  breath held;       /* too short to be spoken alone */
  int holds;
  breath_list parts; /* of the breath that is planned, the last first */
  notes notices;
  LIST(int32_t) noted; /* symbols that the model does not know and that a notice has named, in `lasting` */
  arena lasting;
  string seen;           /* the first passage */
  int read, spoken;      /* whether a sentence was read, whether a piece was planned */
  int began;             /* whether a breath was planned: the first is short */
  int64_t attack;        /* samples kept before the next sound, -1 for all */
  uint32_t number;
} planner;

/* Begins to plan a text, which has to stay. */
void begin_plan(planner *p, scope *s, string text);
/* The next piece, whose words live until the next call; 0: there is none. `p->notices` has what came up. Fails with
 * FAILURE_INPUT where nothing can be spoken. */
int next_piece(planner *p, scope *s, piece *found);
void end_plan(planner *p);

/* joins.c: samples of the silence before the first sound and behind the last that are cut off. */
void cuts_of(const piece *p, int64_t samples_per_frame, int64_t *before, int64_t *after);
/* The samples that a piece is in the speech, of audio as the decoder gives it, silenced below the marks; in place. */
int64_t finish_audio(const piece *p, float *audio, int64_t samples_per_frame, int64_t sample_rate);

#endif
