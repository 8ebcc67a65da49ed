/* Voices: style tables by name, and mixes of them, as in kokoro_tvm/runtime/bundle/voices.py. */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAVIEST = 1000, DIGITS = 9, MOST_VOICES = 16 }; /* limits: a weight, digits of its whole part and of its fraction, voices of a mix */

static const char DEFAULT[] = "af_heart";

/* A voice in a mix; its weight is negative after a minus. */
typedef struct part {
  const tensor *table;
  double weight;
} part;

static int by_name(const void *a, const void *b) {
  return strcmp(((const tensor *)a)->name, ((const tensor *)b)->name);
}

void open_voices(scope *s, kokoro *k) {
  k->voices = map_tensors(s, &k->bundle->voices);
  int64_t width = 2 * k->bundle->style_dim;
  for (int64_t i = 0; i < k->voices.count; ++i) {
    const tensor *element = &k->voices.all[i];
    if (strcmp(element->type->name, "float32") || !element->elements || element->elements % width)
      fail(s, KOKORO_BUNDLE, "%s: the voice %s is not float32 rows of %lld. Build the bundle again.",
           k->bundle->voices.path, element->name, (long long)width);
  }
  qsort(k->voices.all, (size_t)k->voices.count, sizeof *k->voices.all, by_name);
}

static const tensor *find_voice(const kokoro *k, const char *name, size_t size) { /* or NULL */
  for (int64_t i = 0; i < k->voices.count; ++i)
    if (strlen(k->voices.all[i].name) == size && memcmp(k->voices.all[i].name, name, size) == 0)
      return &k->voices.all[i];
  return NULL;
}

const char *default_voice(const kokoro *k) {
  return find_voice(k, DEFAULT, strlen(DEFAULT)) || !k->voices.count ? DEFAULT : k->voices.all[0].name;
}

NORETURN static void refuse(scope *s, const kokoro *k, const char *name, size_t size) {
  const char *some = "";
  for (int64_t i = 0; i < k->voices.count && i < 3; ++i)
    some = format(s, &s->scratch, "%s%s%s", some, i ? ", " : "", k->voices.all[i].name);
  if (!size)
    fail(s, KOKORO_INPUT, "The name of a voice is empty. There are %lld, such as %s.", (long long)k->voices.count,
         some);
  fail(s, KOKORO_INPUT, "There is no voice '%s' in this bundle. It has %lld, such as %s.", shorten(s, name, size),
       (long long)k->voices.count, some);
}

/* Move both ends of a text inwards over spaces. */
static void strip(const char **start, const char **end) {
  const char *first = NULL, *last = *start;
  for (const char *at = *start; at < *end;) {
    const char *symbol = at;
    if (is_space(next_symbol(&at))) continue;
    if (!first) first = symbol;
    last = at;
  }
  *start = first ? first : last;
  *end = last;
}

static int is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Append at most 9 digits to `number` and return how many there were. */
static int read_digits(const char **at, uint64_t *number) {
  int count = 0;
  for (; count < DIGITS && **at >= '0' && **at <= '9'; ++count) *number = 10 * *number + (uint64_t)(*(*at)++ - '0');
  return count;
}

/* Cut the weight in brackets off the end of a text and return it; 1 without one. strtod would depend on the locale. A
 * weight above 1000 becomes infinite. */
static double take_weight(const char *start, const char **end) {
  const char *open = *end, *at;
  uint64_t number = 0, one = 1;
  while (open > start && *--open != '(') continue;
  if (open == *end || *open != '(') return 1;
  for (at = open + 1; is_blank(*at);) ++at;
  int digits = read_digits(&at, &number), fraction = 0;
  if (*at == '.') {
    ++at;
    digits += fraction = read_digits(&at, &number);
  }
  while (is_blank(*at)) ++at;
  if (!digits || *at != ')' || at + 1 != *end) return 1;
  if (memchr(start, '(', (size_t)(open - start))) return 1;
  *end = open;
  strip(&start, end);
  while (fraction--) one *= 10;
  /* both are whole numbers below 2^53, so the quotient is correctly rounded */
  return number > HEAVIEST * one ? HUGE_VAL : (double)number / (double)one;
}

/* Return the `*count` voices of a mix. */
static part *read_mix(scope *s, const kokoro *k, const char *voice, int64_t *count) {
  part *parts = take(s, &s->scratch, MOST_VOICES, sizeof *parts);
  size_t voices = 1;
  for (const char *at = voice; *at;)
    if (next_symbol(&at) < 0)
      fail(s, KOKORO_INPUT, "The voice is no UTF-8: byte %td is no part of a character.", at - voice + 1);
  *count = 1;
  parts->weight = 1;
  if ((parts->table = find_voice(k, voice, strlen(voice)))) return parts;
  for (const char *at = voice; *at; ++at) voices += *at == '-' || *at == '+' || *at == ',';
  if (voices > MOST_VOICES)
    fail(s, KOKORO_INPUT, "A mix may have %d voices, but this one has %zu. Leave some out: to make one heavier, give it a "
                          "weight, as in af_heart(2).", MOST_VOICES, voices);
  char sign = '+';
  for (*count = 0;; ++*count) {
    const char *start = voice, *end = voice += strcspn(voice, "-+,");
    strip(&start, &end);
    double weight = take_weight(start, &end);
    size_t size = (size_t)(end - start);
    part *element = &parts[*count];
    if (!(element->table = find_voice(k, start, size))) refuse(s, k, start, size);
    if (!(weight > 0 && weight <= HEAVIEST))
      fail(s, KOKORO_INPUT, "The weight of %s in a mix should be above 0 and at most %d.", element->table->name, HEAVIEST);
    element->weight = sign == '-' ? -weight : weight;
    if (!(sign = *voice++)) break;
  }
  ++*count;
  double added = 0, removed = 0;
  for (int64_t i = 0; i < *count; ++i) *(parts[i].weight > 0 ? &added : &removed) += fabs(parts[i].weight);
  if (3 * removed > 2 * added)
    fail(s, KOKORO_INPUT, "This mix takes away nearly all that it adds, and no voice is left: what is subtracted "
                          "should weigh at most two thirds of what is added.");
  return parts;
}

/* Add the row of one voice, the mean of several, or their sum by weights that are divided by the sum of magnitudes.
 * Products and sums are rounded to float32 one by one, voice after voice, as numpy rounds them. Compiled as C99, gcc
 * fuses none of them. */
void read_style(scope *s, const kokoro *k, utterance *u, const char *voice, int64_t symbols) {
  size_t width = (size_t)(2 * k->bundle->style_dim);
  int64_t count;
  part *parts = read_mix(s, k, voice, &count);
  int64_t most = 0; /* numbers of a table; a table of one row fits any length */
  int is_mean = 1;
  double whole = 0;
  for (int64_t i = 0; i < count; ++i)
    if (parts[i].table->elements > most) most = parts[i].table->elements;
  int64_t rows = most / (int64_t)width, row = symbols < 1 ? 0 : symbols > rows ? rows - 1 : symbols - 1;
  for (int64_t i = 0; i < count; ++i) {
    if (parts[i].table->elements != most && parts[i].table->elements != (int64_t)width)
      fail(s, KOKORO_INPUT, "The voices '%s' have tables of different lengths and cannot be mixed.",
           shorten(s, voice, strlen(voice)));
    whole += fabs(parts[i].weight);
    is_mean = is_mean && parts[i].weight == 1;
  }
  float *one = count == 1 ? u->style : take(s, &s->scratch, width, sizeof *one);
  for (int64_t i = 0; i < count; ++i) {
    float weight = is_mean ? 1 : (float)(parts[i].weight / whole);
    size_t own = parts[i].table->elements == most ? (size_t)row : 0;
    memcpy(one, (const float *)parts[i].table->data + own * width, width * sizeof *one);
    for (size_t j = 0; count > 1 && j < width; ++j) u->style[j] += weight * one[j];
  }
  for (size_t i = 0; is_mean && i < width; ++i) u->style[i] /= (float)count;
}

static const spoken_language *language_named(const manifest *b, const char *voice) { /* or NULL if the name has no language */
  if (b->spoken == 1) return b->languages;
  for (int64_t i = 0; i < b->spoken; ++i)
    if (voice[0] == b->languages[i].letter && voice[1] && voice[2] == '_') return &b->languages[i];
  return NULL;
}

const spoken_language *language_of(scope *s, const kokoro *k, const char *voice, const char **notice) {
  int64_t count;
  part *parts = read_mix(s, k, voice, &count);
  const spoken_language *result = language_named(k->bundle, parts->table->name);
  *notice = "";
  if (!result) {
    result = k->bundle->languages;
    *notice = format(s, &s->scratch, "The name of the voice %s names no language; %s is used.", parts->table->name, result->name);
    return result;
  }
  for (int64_t i = 1; i < count; ++i)
    if (language_named(k->bundle, parts[i].table->name) != result)
      *notice = format(s, &s->scratch, "The voices of the mix '%s' speak different languages; %s is used.",
                       shorten(s, voice, strlen(voice)), result->name);
  return result;
}
