/* Costs of each letter's graphones from all letters of a word; see runtime/text/frontend/letter_network.py. */
#ifndef KOKORO_LETTER_NETWORK_H
#define KOKORO_LETTER_NETWORK_H

#include "file.h"

typedef struct letter_network {
  size_t channels, depth, graphones;
  const int8_t *embedding, *weights, *score_weights;
  const int32_t *biases, *layers, *score_biases, *scores; /* scores: numbers by graphone, -1 for a rare one */
} letter_network;

/* Open the network of American or British English. Fails with FAILURE_BUNDLE. */
letter_network open_letter_network(scope *s, const tensors *file, int british);

/* Return the states of letters, (letters, channels). */
const int32_t *letter_states(work *w, const letter_network *network, string letters);

/* Write the costs of the graphones from `start` to `end` for a letter with a state. */
void letter_costs(const letter_network *network, const int32_t *state, size_t start, size_t end, int32_t *costs);

#endif
