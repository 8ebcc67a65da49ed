#include "tagger.h"

#include <math.h>
#include <string.h>

enum { FIRST_SEED = 8, LONG_WORD = 100, SHAPE_RUN = 4, LANES = 8, WORDS = 4, HASHES = 4 };
enum { NORM, FIRST_LETTER, LAST_THREE, SHAPE, SPACE_AFTER, IS_SPACE };
static const float EPSILON = 1e-8f;

static NORETURN void another(scope *s, const char *name) {
  fail(s, FAILURE_BUNDLE, "The front end has a tagger of another shape (%s). Build the bundle with this version.", name);
}

static const float *vector(scope *s, const tensors *file, const char *name, size_t size) {
  const tensor *result = get_tensor(s, file, name, "F32", 1);
  if ((size_t)result->elements != size) another(s, name);
  return result->data;
}

static layer open_layer(scope *s, const tensors *file, const char *name, size_t outputs, size_t inputs) {
  const char *element[] = {"weight", "bias", "scale", "shift"};
  char *full[4];
  for (int i = 0; i < 4; ++i) full[i] = format(s, &s->scratch, "%s.%s", name, element[i]);
  const tensor *weight = get_tensor(s, file, full[0], "F32", 3), *bias = get_tensor(s, file, full[1], "F32", 2);
  if (weight->shape[0] < 1 || (size_t)weight->shape[1] != outputs || (size_t)weight->shape[2] != inputs ||
      bias->elements != weight->shape[0] * weight->shape[1])
    another(s, full[0]);
  return (layer){.weight = weight->data,
                 .bias = bias->data,
                 .scale = vector(s, file, full[2], outputs),
                 .shift = vector(s, file, full[3], outputs),
                 .pieces = (size_t)weight->shape[0],
                 .outputs = outputs,
                 .inputs = inputs};
}

static string *open_labels(scope *s, const tensors *file, size_t count) {
  const tensor *result = get_tensor(s, file, "labels", "U8", 1);
  const char *at = result->data, *end = at + result->size;
  string *labels = take(s, s->kept, count, sizeof *labels);
  for (size_t i = 0; i < count; ++i) {
    const char *next = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    size_t size = (size_t)((next ? next : end) - at);
    if (!size || (next != NULL) != (i + 1 < count)) another(s, "labels");
    int32_t *text = take(s, s->kept, size, sizeof *text);
    for (size_t c = 0; c < size; ++c) text[c] = (unsigned char)at[c];
    labels[i] = (string){text, size};
    at = next ? next + 1 : end;
  }
  return labels;
}

tagger open_tagger(scope *s, const tensors *file) {
  const tensor *embeddings = get_tensor(s, file, "embeddings", "F32", 2);
  const tensor *rows = get_tensor(s, file, "rows", "I32", 1), *scores = get_tensor(s, file, "scores.weight", "F32", 2);
  tagger result = {.embeddings = embeddings->data, .weight = scores->data};
  result.channels = (size_t)embeddings->shape[1];
  result.label_count = (size_t)scores->shape[0];
  if (rows->elements != TAGGER_TABLES) another(s, "rows");
  if (result.channels < 1 || result.channels > TAGGER_WIDEST || embeddings->shape[0] > 1 << 24) another(s, "embeddings");
  if ((size_t)scores->shape[1] != result.channels || result.label_count < 1) another(s, "scores.weight");
  int64_t left = embeddings->shape[0];
  for (int i = 0; i < TAGGER_TABLES; ++i) {
    int32_t count = ((const int32_t *)rows->data)[i];
    if (count < 1 || count > left) another(s, "rows");
    result.starts[i] = (uint32_t)(embeddings->shape[0] - left);
    result.rows[i] = (uint32_t)count;
    left -= count;
  }
  result.bias = vector(s, file, "scores.bias", result.label_count);
  result.mix = open_layer(s, file, "mix", result.channels, TAGGER_TABLES * result.channels);
  for (int i = 0; i < TAGGER_LAYERS; ++i)
    result.layers[i] = open_layer(s, file, format(s, &s->scratch, "layer.%d", i), result.channels, 3 * result.channels);
  result.labels = open_labels(s, file, result.label_count);
  result.norms = open_dictionary(s, file, "norms");
  result.symbols = open_dictionary(s, file, "symbols");
  return result;
}

/* Eight floats at any address: one register of AVX, two of SSE2, NEON and WebAssembly. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
#define LOAD(from) (*(const lanes *)(from))
#define INLINE static inline __attribute__((always_inline))

INLINE float sum_of(const lanes *all) {
  const float *of = (const float *)all;
  return ((of[0] + of[1]) + (of[2] + of[3])) + ((of[4] + of[5]) + (of[6] + of[7]));
}

/* Add dot products of one row with the inputs of four words at distance `step`: the row is loaded once. */
INLINE void dots(const float *row, const float *inputs, size_t step, size_t count, float sums[WORDS]) {
  const float *more[WORDS] = {inputs, inputs + step, inputs + 2 * step, inputs + 3 * step};
  lanes a = {0}, b = {0}, c = {0}, d = {0}; /* not an array, which would be kept in memory */
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    lanes weights = LOAD(row + i);
    a += weights * LOAD(more[0] + i);
    b += weights * LOAD(more[1] + i);
    c += weights * LOAD(more[2] + i);
    d += weights * LOAD(more[3] + i);
  }
  sums[0] = sum_of(&a), sums[1] = sum_of(&b), sums[2] = sum_of(&c), sums[3] = sum_of(&d);
  for (; i < count; ++i)
    for (size_t word = 0; word < WORDS; ++word) sums[word] += row[i] * more[word][i];
}

/* Add maxout and layer normalization of several words, whose inputs have the distance `step`, to their outputs. */
INLINE void add_layer_inline(const layer *l, const float *inputs, size_t step, float *out) {
  float best[WORDS][TAGGER_WIDEST];
  for (size_t o = 0; o < l->outputs; ++o)
    for (size_t p = 0; p < l->pieces; ++p) {
      size_t row = p * l->outputs + o;
      float sums[WORDS];
      dots(l->weight + row * l->inputs, inputs, step, l->inputs, sums);
      for (size_t word = 0; word < WORDS; ++word) {
        float value = sums[word] + l->bias[row];
        best[word][o] = p && best[word][o] >= value ? best[word][o] : value;
      }
    }
  for (size_t word = 0; word < WORDS; ++word) {
    float mean = 0, variance = 0, *values = best[word];
    for (size_t o = 0; o < l->outputs; ++o) mean += values[o];
    mean /= (float)l->outputs;
    for (size_t o = 0; o < l->outputs; ++o) values[o] -= mean, variance += values[o] * values[o];
    float spread = sqrtf(variance / (float)l->outputs + EPSILON);
    for (size_t o = 0; o < l->outputs; ++o) out[word * l->outputs + o] += values[o] * (l->scale[o] / spread) + l->shift[o];
  }
}

#if defined(__x86_64__) && !defined(_WIN32) /* gcc for Windows does not align AVX registers on the stack */
#define HAS_AVX2() (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
__attribute__((target("avx2,fma"))) static void add_layer_avx2(const layer *l, const float *inputs, size_t step,
                                                               float *out) {
  add_layer_inline(l, inputs, step, out);
}
#else
#define HAS_AVX2() 0
#define add_layer_avx2 add_layer_inline
#endif

static void add_layer(const layer *l, const float *inputs, size_t step, float *out) {
  if (HAS_AVX2())
    add_layer_avx2(l, inputs, step, out);
  else
    add_layer_inline(l, inputs, step, out);
}

static uint64_t finish(uint64_t state) {
  state = (state ^ state >> 33) * 0xFF51AFD7ED558CCDu;
  state = (state ^ state >> 33) * 0xC4CEB9FE1A85EC53u;
  return state ^ state >> 33;
}

/* Add the embedding of an id: rows selected by MurmurHash3_x64_128 (Austin Appleby, public domain). */
static void embed(const tagger *t, int table, uint64_t id, float *out) {
  uint64_t mark = (uint64_t)(FIRST_SEED + table) ^ 8, low = id * 0x87C37B91114253D5u;
  low = (low << 31 | low >> 33) * 0x4CF5AD432745937Fu;
  low = (low ^ mark) + mark;
  uint64_t high = finish(low + mark);
  low = finish(low) + high;
  high += low;
  const uint32_t places[HASHES] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
  for (int i = 0; i < HASHES; ++i) {
    const float *row = t->embeddings + (t->starts[table] + places[i] % t->rows[table]) * t->channels;
    for (size_t c = 0; c < t->channels; ++c) out[c] += row[c];
  }
}

static uint64_t id_of(work *w, opened *symbols, string text) {
  string id = text_of(w, find_entry(symbols, text));
  uint64_t value = 0;
  if (IS_NONE(id)) return hash_text(w, text);
  for (size_t i = 0; i < id.size; ++i) value = value * 10 + (uint64_t)(id.at[i] - '0');
  return value;
}

/* X for capitals, x for other letters, d for digits, runs cut at four. */
static string shape_of(work *w, string text) {
  builder shape = {0};
  int run = 0;
  if (text.size >= LONG_WORD) return decode_utf8(w, "LONG");
  for (size_t i = 0; i < text.size; ++i) {
    int32_t c = text.at[i], kind = is_alpha(c) ? is_upper(c) ? 'X' : 'x' : is_digit(c) ? 'd' : c;
    run = shape.count && shape.all[shape.count - 1] == kind ? run + 1 : 1;
    if (run <= SHAPE_RUN) put_char(w, &shape, kind);
  }
  return BUILT(shape);
}

static string norm_of(work *w, opened *norms, opened *symbols, string text) {
  uint64_t id = id_of(w, symbols, text);
  int32_t key[16];
  for (int i = 15; i >= 0; --i, id >>= 4) key[i] = "0123456789abcdef"[id & 15];
  string norm = text_of(w, find_entry(norms, (string){key, 16}));
  return norm.size ? norm : lower(w, text);
}

static int all_space(string text) {
  for (size_t i = 0; i < text.size; ++i)
    if (!is_space(text.at[i])) return 0;
  return text.size > 0;
}

/* Add the embeddings of a piece to zeros, one table after the other. */
static void embed_piece(work *w, const tagger *t, opened *norms, opened *symbols, const piece *p, float *out) {
  string text = p->text;
  string read = p->norm.size ? p->norm : norm_of(w, norms, symbols, text);
  string last = slice(text, text.size > 3 ? text.size - 3 : 0, text.size);
  embed(t, NORM, id_of(w, symbols, read), out);
  embed(t, FIRST_LETTER, id_of(w, symbols, slice(text, 0, 1)), out + FIRST_LETTER * t->channels);
  embed(t, LAST_THREE, id_of(w, symbols, last), out + LAST_THREE * t->channels);
  embed(t, SHAPE, id_of(w, symbols, shape_of(w, text)), out + SHAPE * t->channels);
  embed(t, SPACE_AFTER, p->space != 0, out + SPACE_AFTER * t->channels);
  embed(t, IS_SPACE, (uint64_t)all_space(text), out + IS_SPACE * t->channels);
}

tagged tag_pieces(work *w, const tagger *t, opened *norms, opened *symbols, const pieces *all) {
  /* A text is padded with a zero word per layer, which the layers compute like words, and with a row before and as many
   * after as are computed together, which stay zero. */
  size_t channels = t->channels, wide = TAGGER_TABLES * channels, count = all->count, words = count + 2 * TAGGER_LAYERS;
  size_t size = (1 + words + WORDS) * channels;
  float *state = room(w, size, sizeof *state), *next = room(w, size, sizeof *next);
  float *embedded = room(w, WORDS * wide, sizeof *embedded), *mixed = room(w, WORDS * channels, sizeof *mixed);
  tagged result = {room(w, count + 1, sizeof(string)), NULL};
  for (size_t i = 0; i < count; i += WORDS) {
    size_t some = count - i < WORDS ? count - i : WORDS;
    memset(embedded, 0, WORDS * wide * sizeof *embedded);
    memset(mixed, 0, WORDS * channels * sizeof *mixed);
    for (size_t j = 0; j < some; ++j) embed_piece(w, t, norms, symbols, &all->all[i + j], embedded + j * wide);
    add_layer(&t->mix, embedded, wide, mixed);
    memcpy(state + (1 + TAGGER_LAYERS + i) * channels, mixed, some * channels * sizeof *mixed);
  }
  for (int l = 0; l < TAGGER_LAYERS; ++l) {
    memcpy(next, state, size * sizeof *next);
    for (size_t i = 0; i < words; i += WORDS) add_layer(&t->layers[l], state + i * channels, channels, next + (1 + i) * channels);
    memset(next + (1 + words) * channels, 0, WORDS * channels * sizeof *next);
    float *done = state;
    state = next, next = done;
  }
  result.states = state + (1 + TAGGER_LAYERS) * channels;
  for (size_t i = 0; i < count; ++i) {
    float highest = 0, sums[WORDS];
    for (size_t l = 0; l < t->label_count; ++l) {
      dots(t->weight + l * channels, result.states + i * channels, 0, channels, sums);
      float score = sums[0] + t->bias[l];
      if (l && score <= highest) continue;
      highest = score;
      result.tags[i] = t->labels[l];
    }
  }
  return result;
}
