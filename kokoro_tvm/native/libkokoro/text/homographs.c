#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tagger.h"

enum { NEAR = 2, FAR = 8, PART = 0x1E, ZERO = 128 };

int open_homographs(scope *s, const tensors *file, int british, size_t channels, homographs *result) {
  const char *words = british ? "homographs.gb" : "homographs.us";
  if (!find_tensor(file, words)) return 0;
  const tensor *weights = get_tensor(s, file, "homographs.weights", "U8", 2);
  const char *names[] = {"homographs.mean", "homographs.deviation", "homographs.scales", "homographs.biases"};
  const float **into[] = {&result->mean, &result->deviation, &result->scales, &result->biases};
  result->weights = weights->data;
  result->channels = channels;
  result->readings = (size_t)weights->shape[0];
  result->width = (size_t)weights->shape[1];
  for (int i = 0; i < 4; ++i) {
    const tensor *candidate = get_tensor(s, file, names[i], "F32", 1);
    if ((size_t)candidate->elements != (i < 2 ? 3 * channels : result->readings) || result->width <= 3 * channels)
      fail(s, FAILURE_BUNDLE, "The front end has %s of another shape. Build the bundle with this version.", names[i]);
    *into[i] = candidate->data;
  }
  result->words = open_dictionary(s, file, words);
  return 1;
}

/* Scores of the readings of a word, to which the surrounding features add. */
typedef struct scores {
  work *w;
  const homographs *of;
  size_t first, count;
  float *all;
} scores;

static void add_name(scores *to, builder *name) {
  const homographs *h = to->of;
  size_t features = 3 * h->channels;
  size_t bucket = features + (size_t)(hash_text(to->w, BUILT(*name)) % (h->width - features));
  for (size_t i = 0; i < to->count; ++i)
    to->all[i] += (float)h->weights[(to->first + i) * h->width + bucket] - ZERO;
}

/* Add a feature: a kind in ASCII and one or two texts. */
static void add_feature(scores *to, const char *kind, string text, const string *more) {
  builder name = {0};
  put_ascii(to->w, &name, kind);
  put(to->w, &name, text);
  if (more) {
    put_char(to->w, &name, ' ');
    put(to->w, &name, *more);
  }
  add_name(to, &name);
}

/* Return the text at an offset from a place; "<>" outside. */
static string text_at(const string *texts, size_t count, size_t place, int step) {
  static const int32_t nothing[] = {'<', '>'};
  int64_t result = (int64_t)place + step;
  return result >= 0 && (size_t)result < count ? texts[result] : (string){nothing, 2};
}

static void add_names(scores *to, size_t place, string text, const string *lowered, const string *tags, size_t count) {
  char kind[16];
  for (int step = -FAR; step <= FAR; ++step) {
    string word = text_at(lowered, count, place, step), tag = text_at(tags, count, place, step);
    if (!step) continue;
    if (!is_ascii_text(word, "<>")) add_feature(to, "c:", word, NULL);
    if (step < -NEAR || step > NEAR) continue;
    snprintf(kind, sizeof kind, "%d:", step);
    add_feature(to, kind, word, NULL);
    snprintf(kind, sizeof kind, "t%d:", step);
    add_feature(to, kind, tag, NULL);
  }
  string before = text_at(tags, count, place, -1), here = tags[place], after = text_at(tags, count, place, 1);
  add_feature(to, "w:", text, NULL);
  add_feature(to, "t:", here, NULL);
  add_feature(to, "t<:", before, &here);
  add_feature(to, "t>:", here, &after);
  add_feature(to, "t<>:", before, &after);
}

static float feature(const homographs *h, const float *states, size_t count, size_t place, size_t i) {
  size_t word = place + i / h->channels; /* skip the word itself */
  float state = word && word <= count ? states[(word - 1) * h->channels + i % h->channels] : 0;
  return (state - h->mean[i]) / h->deviation[i];
}

static string choose(scores *to, const string *readings, const float *features) {
  const homographs *h = to->of;
  size_t best = 0;
  float highest = 0;
  for (size_t i = 0; i < to->count; ++i) {
    const uint8_t *row = h->weights + (to->first + i) * h->width;
    float score = 0;
    for (size_t f = 0; f < 3 * h->channels; ++f) score += ((float)row[f] - ZERO) * features[f];
    score = (score + to->all[i]) * h->scales[to->first + i] + h->biases[to->first + i];
    if (i && score <= highest) continue;
    highest = score;
    best = i;
  }
  return readings[best];
}

string *read_homographs(work *w, const homographs *h, opened *words, const pieces *all, const tagged *result) {
  string *read = room(w, all->count + 1, sizeof *read), *lowered = room(w, all->count + 1, sizeof *lowered);
  float *features = room(w, 3 * h->channels, sizeof *features);
  for (size_t i = 0; i < all->count; ++i) lowered[i] = lower(w, all->all[i].text);
  for (size_t place = 0; place < all->count; ++place) {
    string parts = text_of(w, find_entry(words, lowered[place]));
    LIST(string) readings = {0};
    scores to = {.w = w, .of = h};
    if (IS_NONE(parts)) continue;
    size_t start = 0;
    for (size_t i = 0; i <= parts.size; ++i) {
      if (i < parts.size && parts.at[i] != PART) continue;
      PUSH(w, readings, slice(parts, start, i));
      start = i + 1;
    }
    string first = readings.all[0];
    for (size_t i = 0; i < first.size && to.first < h->readings; ++i)
      to.first = to.first * 10 + (size_t)(first.at[i] - '0');
    to.count = readings.count - 1;
    if (!to.count || to.first > h->readings || to.count > h->readings - to.first)
      fail(w->s, FAILURE_BUNDLE, "The front end's words of two readings are damaged. Build the bundle again.");
    to.all = room(w, to.count, sizeof *to.all);
    for (size_t i = 0; i < 3 * h->channels; ++i) features[i] = feature(h, result->states, all->count, place, i);
    add_names(&to, place, all->all[place].text, lowered, result->tags, all->count);
    read[place] = choose(&to, readings.all + 1, features);
  }
  return read;
}
