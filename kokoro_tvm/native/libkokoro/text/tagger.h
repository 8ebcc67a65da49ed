/* Parts of speech (runtime/text/frontend/tagger.py), homographs (homographs.py), and their hashes. */
#ifndef KOKORO_TAGGER_H
#define KOKORO_TAGGER_H

#include "dictionary.h"
#include "tokenizer.h"

enum { TAGGER_TABLES = 6, TAGGER_LAYERS = 4, TAGGER_WIDEST = 128 };

typedef struct layer {
  const float *weight, *bias, *scale, *shift; /* (pieces, outputs, inputs), (pieces, outputs), (outputs,) twice */
  size_t pieces, outputs, inputs;
} layer;

typedef struct tagger {
  const float *embeddings, *weight, *bias; /* (rows, channels), (labels, channels), (labels,) */
  uint32_t rows[TAGGER_TABLES], starts[TAGGER_TABLES];
  size_t channels, label_count;
  layer mix, layers[TAGGER_LAYERS];
  string *labels;
  dictionary norms, symbols;
} tagger;

/* Fails with FAILURE_BUNDLE. */
tagger open_tagger(scope *s, const tensors *file);

/* The tag of every piece, and the states (pieces, channels) from which it follows. */
typedef struct tagged {
  string *tags;
  float *states;
} tagged;

tagged tag_pieces(work *w, const tagger *t, opened *norms, opened *symbols, const pieces *all);

uint64_t hash_text(work *w, string text); /* 64-bit hash of its UTF-8; 0 for the empty text */

typedef struct homographs {
  const float *mean, *deviation, *scales, *biases;
  const uint8_t *weights; /* (readings, features + buckets) */
  size_t channels, readings, width;
  dictionary words;
} homographs;

/* Return 0 if the file has none. Fails with FAILURE_BUNDLE if they belong to another tagger. */
int open_homographs(scope *s, const tensors *file, int british, size_t channels, homographs *result);
/* Return the phonemes of every piece that is a homograph, NONE for others. */
string *read_homographs(work *w, const homographs *h, opened *words, const pieces *all, const tagged *result);

#endif
