/* Letters to phonemes by a joint n-gram model; see runtime/text/frontend/joint_ngrams.py for model and format. */
#ifndef KOKORO_JOINT_NGRAMS_H
#define KOKORO_JOINT_NGRAMS_H

#include "letter_network.h"

typedef struct joint_ngrams {
  size_t graphones;
  const int32_t *letters; /* by graphone; 0 for the edge of a word */
  const string *phonemes;
  const uint32_t *first; /* the children of a node are first[node] to first[node + 1] */
  const uint16_t *last;  /* columns over the nodes */
  const uint8_t *costs, *backoffs;
  letter_network network; /* adds its costs */
} joint_ngrams;

/* Unpack the model of American or British English. Fails with FAILURE_BUNDLE if a tensor is missing or damaged. */
joint_ngrams open_joint_ngrams(scope *s, const tensors *file, int british);

/* Return the phonemes of letters, one with primary stress; NONE if a letter is unknown. */
string read_letters(work *w, const joint_ngrams *from, string letters);

#endif
