/* Parts of words: cut, grouped to words, joined again (runtime/text/frontend/parts.py). */
#ifndef KOKORO_PARTS_H
#define KOKORO_PARTS_H

#include "lexicon.h"
#include "source.h"

/* A word or a piece of one, see Part of parts.py. */
typedef struct part {
  string text, tag, phonemes, reading; /* phonemes, reading: NONE if unknown */
  size_t start, end;
  int space, origin, apart, large, stuttered;
  stress stress; /* that a link requests */
} part;
typedef LIST(part) part_list;

typedef struct word {
  part *parts;
  size_t count;
} word;
typedef LIST(word) word_list;

int is_pause(int32_t c); /* marks of a pause or a change of tone */
int is_joint(int32_t c); /* silent marks inside a word */
int all_joints(string text);
void settle_part(part *p, string phonemes, int origin);

/* Mark beginnings of words that are repeated with hyphens ("kn-know"), and silence the hyphens. */
void mark_stutters(work *w, part_list *all);
/* Return the first sounds of a word as a stutterer repeats them. */
string find_onset(work *w, string phonemes);
/* Group parts to words. Marks and parts with phonemes are words of one part. */
word_list group_parts(work *w, const part_list *all);
/* Join parts to one; its phonemes are NONE if no part has any. */
part join_parts(work *w, const part *parts, size_t count);
/* Finish a word that was read part by part: joints become silent, and only some parts keep their stress. */
void settle_word(work *w, word *done);

#endif
