/* Interface of this folder: from a text that arrives in portions to utterances and the silence between them
 * (runtime/speech/sentences.py, division.py, planning.py, joins.py). Nothing here knows the model: a planner asks for
 * durations. */
#ifndef KOKORO_TEXT_H
#define KOKORO_TEXT_H

#include "front_end.h"
#include "sections.h"

/* A word or a mark. text: without markup; start, end: places in the source; space: symbols up to the next word; pitch,
 * rate: factors; joined: no space before it in the text without markup. */
typedef struct word {
  string text, phonemes, space;
  size_t start, end;
  double pitch, rate;
  int joined;
} word;
typedef LIST(word) words;

/* Words of one utterance and what follows. voice: NONE for the request's; pause: requested seconds, -1 for none; whole:
 * never divided by length. */
typedef struct breath {
  words words;
  boundary ends;
  int whole;
  double pause;
  string voice;
} breath;
typedef LIST(breath) breath_list;

/* Return the symbols of words with phonemes. */
string symbols_of(work *w, const words *all);
int is_spoken(const word *element); /* whether it has a sound; a mark has none */

/* ---- sentences.c ---- */

/* Append the sentences of a passage, whose styles and places the words have. Return whether there are any. */
int read_sentences(work *w, const reader *r, const styled_passage *passage, notice_list *notices, breath_list *into);
/* Return the utterances of a passage that have phonemes. Notices name the rest. Fails with FAILURE_INPUT. */
utterances read_passage(work *w, const reader *r, const source *from, notice_list *notices);
/* Phonemes, and the place of their first symbol. */
typedef struct phoneme_line {
  string phonemes;
  size_t place;
} phoneme_line;
typedef LIST(phoneme_line) phoneme_lines;

/* Return one utterance for each line of phonemes. Fails with FAILURE_INPUT if the model knows none of them. */
breath_list read_phoneme_lines(work *w, const vocabulary *names, const phoneme_line *all, size_t count, notice_list *notices);

/* ---- division.c ---- */

/* Lengths of pieces in symbols: `first` ends a longer first piece at its first clause, `least` joins shorter pieces with
 * the next, `most` divides longer ones. first_s: seconds; the utterance of a longer first piece is decoded in two pieces. */
typedef struct division {
  size_t first, least, most;
  double first_s;
} division;

/* Divide at the best place; return 0 if there is none. */
int halve(work *w, const breath *whole, breath *before, breath *after);
/* Return the number of words up to the first clause with at least so many symbols on both sides; 0: none. */
size_t first_clause(work *w, const words *all, size_t least);
/* Return the first words of a breath as a clause. */
breath first_words(work *w, const breath *whole, const words *all, size_t count);
/* Append words after a space. */
void join_words(work *w, words *first, const words *more);

/* ---- joins.c ---- */

/* Seconds from the last sound of a piece to the first of the next, at speed 1. */
typedef struct pauses {
  double sentence, ellipsis, semicolon, comma, paragraph, none;
} pauses;

/* The plan of an utterance or a part of one. words: of the utterance, with symbols that the model knows, none for silence
 * alone; first, last: the words that are heard, from `first` to before `last`; durations: frames per token of the utterance,
 * marks at both ends included; symbols: length of the phonemes, which selects the row of a voice; noise: number of the seed's
 * noise; keep: samples that stay of the quiet at both ends, -1 for all; pause: samples of silence after it. */
typedef struct piece {
  words words;
  size_t first, last;
  int64_t *durations;
  size_t tokens, symbols;
  uint32_t noise;
  int64_t keep[2], pause;
  string voice; /* NONE: the request's */
} piece;

/* Return the seconds of silence after words at speed 1. */
double pause_after(const pauses *seconds, const words *all, boundary ends);
/* Return the number of words of the utterance before the place to cut it at: the last of the quietest places between two words
 * that is within `frames`. 0: there is none, or the utterance is not longer. */
size_t cut_place(const piece *p, double frames, double speed);
/* Return the first frame of the utterance that the decoder computes, and the one after the last. */
void window_of(const piece *p, int64_t *first, int64_t *last);
/* Return the samples that are cut off at both ends of the utterance. */
void cuts_of(const piece *p, int64_t samples_per_frame, int64_t *before, int64_t *after);
/* Turn the audio of the utterance into the piece's samples in place, with silence below marks; return their number. */
int64_t finish_audio(const piece *p, float *audio, int64_t samples_per_frame, int64_t sample_rate);

/* ---- planning.c ---- */

/* Return the speed of a word: speed times rate, within the model's limits unless `speed` itself is beyond. */
double bound_speed(double speed, double rate);
/* Return the whole frames of a token at a speed, halves to even. Fails for a duration that is not finite. */
int64_t frames_of(scope *s, float duration, double speed);

extern const pauses USUAL_PAUSES;
/* Of a stream, and of a whole speech, whose first sound nobody waits for. */
extern const division USUAL_DIVISION, UNCUT_DIVISION;

/* State of planning a text. The caller sets the first part, and end_plan frees the rest. */
typedef struct planner {
  vocabulary names;
  /* return the reader of a language by its letter. Fails with FAILURE_INPUT. */
  const reader *(*reader_of)(void *with, scope *s, char letter);
  double speed;
  int64_t sample_rate, samples_per_frame, limits[2]; /* longest utterance in tokens and in frames */
  pauses pauses;
  division division;
  /* the rest is zero at first */
  sections sections;
  phoneme_lines lines; /* instead of a text */
  breath_list ready; /* sentences that were read; those from `next` on are not planned */
  size_t next;
  breath held;       /* too short to be spoken alone */
  int holds;
  breath_list parts; /* parts of the current breath, the last one first */
  breath drafted;    /* whose durations were asked for */
  piece draft;
  int asks;          /* whether there is a draft */
  piece rest;        /* second part of the first utterance */
  int has_rest;
  work w;
  arena memory;      /* of `w`: text that is not planned yet, and the notices */
  notice_list notices; /* of the last step */
  LIST(int32_t) noted; /* unknown symbols with a notice */
  work lasting;
  arena kept;        /* of `lasting` */
  string seen;       /* the first text with a letter or digit, else the first */
  char language;     /* of that text; 0: it has no letter or digit */
  double lead;       /* seconds of pauses before the first word */
  int has_words, spoken; /* whether there was a word, whether a piece was planned */
  int bounded;       /* whether a notice about a rate was given */
  int began;         /* whether a breath was planned: the first one is short */
  int broken;        /* whether a step failed */
  int64_t attack;    /* samples kept before the next sound, -1 for all */
  uint32_t number;
} planner;

/* Begin the plan of a text. omitted: kinds of text that are left out, OMITS_NOTES and so on. */
void begin_plan(planner *p, scope *s, markup_form form, unsigned omitted);
/* Append text, whose places are those of every character and of the end; or end it. */
void give_text(planner *p, scope *s, string text, const size_t *places);
void end_text(planner *p);
/* Plan lines of phonemes instead of a text, each as one utterance whose symbols have places from `place` on. */
void give_phonemes(planner *p, scope *s, string phonemes, size_t place);

/* The next step: more text is needed, durations of a draft are needed, a piece is planned, or nothing is left. */
typedef enum plan_step { NEEDS_TEXT, NEEDS_DURATIONS, PLANNED, FINISHED } plan_step;

/* Take the next step. `result` gets the draft or the piece, which live until the next call; notices are in `p->notices`.
 * Fails with FAILURE_INPUT if nothing can be spoken; afterwards the plan is finished. */
plan_step next_step(planner *p, scope *s, piece *result);
/* Set the durations of the draft's tokens, in frames at speed 1. */
void give_durations(planner *p, scope *s, const float *durations);
void end_plan(planner *p);

#endif
