#include "letter_network.h"

enum { AROUND = 2, SPAN = 2 * AROUND + 1, CODES = 27, TAPS = 3, MAX_STATE = (1 << 14) - 1, MAX_COST = 160 };
enum { MAX_SHIFT = 24, MAX_CHANNELS = 128, MAX_BIAS = 1 << 30 }; /* so that no sum overflows */

static int has_small(const tensor *biases) {
  const int32_t *all = biases->data;
  int64_t i = 0;
  while (i < biases->elements && all[i] >= -MAX_BIAS && all[i] <= MAX_BIAS) ++i;
  return i == biases->elements;
}

letter_network open_letter_network(scope *s, const tensors *file, int british) {
  const tensor *embedding = get_tensor(s, file, "network.embedding", "I8", 3);
  const tensor *weights = get_tensor(s, file, "network.weights", "I8", 4);
  const tensor *biases = get_tensor(s, file, "network.biases", "I32", 2);
  const tensor *layers = get_tensor(s, file, "network.layers", "I32", 2);
  const tensor *score_weights = get_tensor(s, file, british ? "network.gb.weights" : "network.us.weights", "I8", 2);
  const tensor *score_biases = get_tensor(s, file, british ? "network.gb.biases" : "network.us.biases", "I32", 1);
  const tensor *scores = get_tensor(s, file, british ? "network.gb.scores" : "network.us.scores", "I32", 1);
  int64_t depth = weights->shape[0], channels = weights->shape[3];
  int good = embedding->shape[0] == SPAN && embedding->shape[1] == CODES && embedding->shape[2] == channels &&
             weights->shape[1] == TAPS && weights->shape[2] == channels && weights->shape[3] == channels &&
             biases->shape[0] == depth + 1 && biases->shape[1] == channels && layers->shape[0] == depth + 2 &&
             layers->shape[1] == 2 && score_weights->shape[1] == channels &&
             score_biases->shape[0] == score_weights->shape[0];
  const int32_t *table = layers->data, *numbers = scores->data;
  good = good && channels <= MAX_CHANNELS && has_small(biases) && has_small(score_biases);
  for (int64_t i = 0; good && i < depth + 2; ++i)
    good = table[2 * i] >= 0 && table[2 * i] <= CODES && table[2 * i + 1] >= 0 && table[2 * i + 1] <= MAX_SHIFT;
  for (int64_t i = 0; good && i < scores->elements; ++i)
    good = numbers[i] >= -1 && numbers[i] < score_biases->elements;
  if (!good) fail(s, FAILURE_BUNDLE, "The letter network of the front end is damaged. Build the bundle again.");
  return (letter_network){(size_t)channels, (size_t)depth, (size_t)scores->elements, embedding->data, weights->data,
                          score_weights->data, biases->data, table, score_biases->data, numbers};
}

/* Add the products of a state and a matrix (channels, columns) to sums. */
static void add_products(const int32_t *state, const int8_t *matrix, size_t channels, int32_t *sums) {
  for (size_t i = 0; i < channels; ++i, matrix += channels) {
    int32_t factor = state[i];
    for (size_t j = 0; factor && j < channels; ++j) sums[j] += factor * matrix[j];
  }
}

/* Return a sum of states, not below 0 or above what products with weights have room for. */
static int32_t limited(int64_t state) { return state < 0 ? 0 : state > MAX_STATE ? MAX_STATE : (int32_t)state; }

static size_t letter_code(string letters, size_t place) {
  int inside = place < letters.size && letters.at[place] >= 'a' && letters.at[place] <= 'z';
  return inside ? (size_t)(letters.at[place] - 'a' + 1) : 0;
}

const int32_t *letter_states(work *w, const letter_network *network, string letters) {
  size_t channels = network->channels, size = letters.size * channels;
  int32_t *states = room(w, size + 1, sizeof *states), *next = room(w, size + 1, sizeof *next);
  int32_t *sums = room(w, channels, sizeof *sums);
  for (size_t place = 0; place < letters.size; ++place)
    for (size_t i = 0; i < channels; ++i) {
      int64_t sum = 0;
      for (size_t k = 0; k < SPAN; ++k) /* a place before the first letter is a large number, which is none */
        sum += network->embedding[(k * CODES + letter_code(letters, place + k - AROUND)) * channels + i];
      states[place * channels + i] = limited(sum * (1 << network->layers[1]) + network->biases[i]);
    }
  for (size_t layer = 0; layer < network->depth; ++layer) {
    size_t distance = (size_t)network->layers[2 * layer + 2];
    int shift = network->layers[2 * layer + 3];
    const int8_t *weights = network->weights + layer * TAPS * channels * channels;
    const int32_t *biases = network->biases + (layer + 1) * channels;
    for (size_t place = 0; place < letters.size; ++place) {
      for (size_t i = 0; i < channels; ++i) sums[i] = biases[i];
      for (size_t k = 0; k < TAPS; ++k) {
        size_t at = place + k * distance - distance;
        if (at < letters.size) add_products(states + at * channels, weights + k * channels * channels, channels, sums);
      }
      for (size_t i = 0; i < channels; ++i) {
        int32_t change = sums[i] > 0 ? sums[i] >> shift : 0;
        next[place * channels + i] = limited((int64_t)states[place * channels + i] + change);
      }
    }
    int32_t *before = states;
    states = next;
    next = before;
  }
  return states;
}

void letter_costs(const letter_network *network, const int32_t *state, size_t start, size_t end, int32_t *costs) {
  int32_t best = INT32_MIN, shift = network->layers[2 * network->depth + 3];
  for (size_t i = start; i < end; ++i) {
    if (network->scores[i] < 0) continue;
    size_t number = (size_t)network->scores[i];
    const int8_t *weights = network->score_weights + number * network->channels;
    int32_t score = network->score_biases[number];
    for (size_t j = 0; j < network->channels; ++j) score += state[j] * weights[j];
    costs[i - start] = score;
    if (score > best) best = score;
  }
  for (size_t i = start; i < end; ++i) {
    int64_t cost = network->scores[i] < 0 ? MAX_COST : ((int64_t)best - costs[i - start]) >> shift;
    costs[i - start] = cost < MAX_COST ? (int32_t)cost : MAX_COST;
  }
}
