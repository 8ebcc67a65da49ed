/* Parts of words on their way to phonemes: cut, grouped to words, put together again (runtime/text/frontend/parts.py). */
#ifndef KOKORO_PARTS_H
#define KOKORO_PARTS_H

#include "lexicon.h"
#include "source.h"

/* A word or a piece of one: see Part of parts.py. */
typedef struct part {
  string text, tag, phonemes, reading; /* phonemes, reading: NONE while they are not known, and where there is none */
  size_t start, end;
  int space, origin, apart, large;
  stress stress; /* that a link asks for */
} part;
typedef LIST(part) part_list;

typedef struct word {
  part *parts;
  size_t count;
} word;
typedef LIST(word) word_list;

int is_pause(int32_t c); /* marks that stand for a pause or a change of tone */
int is_joint(int32_t c); /* marks inside a word that are not spoken */
int all_joints(string text);
void settle_part(part *p, string phonemes, int origin);

/* Words, each as its parts; marks and what has its phonemes already are words of one part. */
word_list group_parts(work *w, const part_list *all);
/* One part of several, the same where it is alone; its phonemes are NONE as long as none has any. */
part join_parts(work *w, const part *parts, size_t count);
/* Finishes a word that was read part by part: joints are silent, and only so many parts keep the stress. */
void settle_word(work *w, word *done);

#endif
