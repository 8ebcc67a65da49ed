/* The five components: routing, padding, durations and alignment, as in kokoro_tvm/runtime/session/session.py,
 * routing.py and model.py. */
#include "model.h"

#include <math.h>
#include <string.h>

enum { MOST_INPUTS = 8, MOST_RESULTS = 4 };

/* Return the elements of a tensor for each token or frame, and the axis of its length; 0 if it has none. */
static int64_t length_axis(const kokoro *k, const char *name, int *axis) {
  static const struct { const char *name; int axis, factor; } table[] = {
      {"tokens", 1, 1}, {"d_en", 2, 1}, {"duration", 1, 1}, {"d", 2, 1}, {"t_en", 2, 1}, {"en", 2, 1}, {"asr", 2, 1},
      {"f0", 1, 2}, {"n", 1, 2}, {"noise", 1, 0}, {"audio", 1, 0}};
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i)
    if (strcmp(name, table[i].name) == 0) {
      *axis = table[i].axis;
      return table[i].factor ? table[i].factor : k->bundle->samples_per_frame;
    }
  return 0;
}

/* Return an array with another length on an axis: cut, or padded with zeros. */
static array resize(scope *s, const array *from, int axis, int64_t size) {
  int64_t shape[3] = {0}, rows = 1, inner = 1, width = from->type->width;
  for (int i = 0; i < from->extents; ++i) {
    shape[i] = i == axis ? size : from->shape[i];
    if (i < axis) rows *= from->shape[i];
    if (i > axis) inner *= from->shape[i];
  }
  array result = new_array(s, from->type->name, from->extents, shape[0], shape[1], shape[2]);
  size_t before = (size_t)(from->shape[axis] * inner * width), after = (size_t)(size * inner * width);
  for (int64_t row = 0; row < rows; ++row)
    memcpy((char *)result.data + (size_t)row * after, (const char *)from->data + (size_t)row * before,
           before < after ? before : after);
  return result;
}

static void check_outputs(scope *s, const component *part, const port *port, const array *output, int axis,
                          int64_t expected) {
  if (output->extents <= axis || output->extents > 3 || output->shape[axis] != expected || strcmp(port->dtype, "float32"))
    fail(s, KOKORO_BUNDLE, "%s gave %s of another shape than its signature has. Build the bundle again.",
         part->function, port->name);
}

/* Run an entry point of a component on arrays of exactly `length` tokens or frames, with its smallest fitting bucket. */
static void run(scope *s, kokoro *k, int which, int64_t length, const array *inputs, int count, array *outputs,
                int results) {
  const component *part = &k->bundle->components[which];
  int64_t bucket = 0, factor;
  int owner = which == SEEDED ? DECODER : which; /* owner of weights and memory */
  int axis = 0, value = 0, got;
  void *objects[MOST_INPUTS + 1];
  while (bucket < part->count && part->libraries[bucket].bucket < length) ++bucket;
  int64_t size = k->bundle->length == EXACT ? length : part->libraries[bucket].bucket;
  for (int64_t i = 0; i < part->inputs.count; ++i) {
    const port *port = &part->inputs.all[i];
    if (strcmp(port->name, "length") == 0) continue;
    if (value == count || strcmp(port->dtype, inputs[value].type->name))
      fail(s, KOKORO_BUNDLE, "%s takes other inputs than this libkokoro gives. Build the bundle again.", part->function);
    factor = length_axis(k, port->name, &axis);
    array fitted = factor && size != length ? resize(s, &inputs[value], axis, size * factor) : inputs[value];
    objects[value++] = fitted.object;
  }
  if (value != count)
    fail(s, KOKORO_BUNDLE, "%s takes fewer inputs than this libkokoro gives. Build the bundle again.", part->function);
  if (k->bundle->length == MASKED) {
    array valid = new_array(s, "int64", 1, 1, 0, 0);
    *(int64_t *)valid.data = length;
    objects[value++] = valid.object;
  }
  int64_t parameters = part->parameters.count;
  void **all = take(s, &s->scratch, (size_t)(value + parameters), sizeof *all);
  memcpy(all, objects, (size_t)value * sizeof *all);
  if (parameters) memcpy(all + value, k->parameters[owner], (size_t)parameters * sizeof *all);
  int64_t reserved = (size + part->storage_step - 1) / part->storage_step;
  if (k->reserved[owner] && k->reserved[owner] != reserved) release_memory(s); /* blocks of other sizes would stay in the pool */
  k->reserved[owner] = reserved;
  array result[MOST_RESULTS];
  const char *why = call(s, k->functions[which][bucket], all, value + (int)parameters, result, MOST_RESULTS, &got);
  if (!why && (got != results || part->outputs.count != results)) why = "it gave other results than its signature has";
  if (why && strstr(why, "bad_alloc"))
    fail(s, KOKORO_SYSTEM, "Memory ran out: %s for %lld %s (%s). Speak the text in shorter parts, end other programs, or "
                           "raise the limit of memory.",
         part->function, (long long)length, part->axis == TOKENS ? "tokens" : "frames", why);
  if (why)
    fail(s, KOKORO_BUNDLE,
         "%s of bucket %lld failed for %lld %s (%s). Build the bundle again, and report this if it stays.",
         part->function, (long long)part->libraries[bucket].bucket, (long long)length,
         part->axis == TOKENS ? "tokens" : "frames", why);
  for (int i = 0; i < results; ++i) {
    const port *port = &part->outputs.all[i];
    outputs[i] = result[i];
    if (!(factor = length_axis(k, port->name, &axis))) continue;
    check_outputs(s, part, port, &result[i], axis, size * factor);
    if (size != length) outputs[i] = resize(s, &result[i], axis, length * factor);
  }
}

static void *find_parameter(scope *s, const component *part, const port *port, const tensors *all) {
  int64_t size = 1;
  const tensor *result = NULL;
  for (int64_t i = 0; i < all->count; ++i)
    if (strcmp(all->all[i].name, port->name) == 0) result = &all->all[i];
  if (!result)
    fail(s, KOKORO_BUNDLE, "%s lacks the tensor %s that %s takes. Build it again.", part->weights.path, port->name,
         part->function);
  for (int64_t i = 0; i < port->extents; ++i)
    size = port->shape[i] < 0 || (port->shape[i] && size > result->elements / port->shape[i]) ? result->elements + 1
                                                                                             : size * port->shape[i];
  if (strcmp(result->type->name, port->dtype) || result->elements < size)
    fail(s, KOKORO_BUNDLE, "%s: %s holds %lld elements of %s, which %s cannot take. Build the bundle again.",
         part->weights.path, port->name, (long long)result->elements, result->type->name, part->function);
  void *data = result->data;
  if ((uintptr_t)data % 64) { /* copy instead of refusing: slower to open, equally right */
    data = take(s, s->kept, (size_t)result->size, 1);
    memcpy(data, result->data, (size_t)result->size);
  }
  return wrap(s, s->kept, port, data);
}

void load_components(scope *s, kokoro *k) {
  for (int which = 0; which < COMPONENTS; ++which) {
    const component *part = &k->bundle->components[which];
    tensors all = map_tensors(s, &part->weights);
    k->parameters[which] = take(s, s->kept, (size_t)part->parameters.count, sizeof(void *));
    for (int64_t i = 0; i < part->parameters.count; ++i)
      k->parameters[which][i] = find_parameter(s, part, &part->parameters.all[i], &all);
    const char *names[2] = {part->function, k->bundle->components[SEEDED].function};
    int entries = which == DECODER ? 2 : 1;
    for (int entry = 0; entry < entries; ++entry)
      k->functions[which + entry] = take(s, s->kept, (size_t)part->count, sizeof(void *));
    for (int64_t i = 0; i < part->count; ++i) {
      void *functions[2];
      load_functions(s, k->bundle, part, &part->libraries[i], names, functions, entries);
      for (int entry = 0; entry < entries; ++entry) k->functions[which + entry][i] = functions[entry];
    }
  }
}

static void check_length(scope *s, const kokoro *k, int axis, int64_t length) {
  int64_t limit = largest(k->bundle, axis);
  if (length > limit)
    fail(s, KOKORO_TOO_LONG,
         "The utterance needs %lld %s, but the largest bucket of this bundle takes %lld. Speak it in shorter parts%s.",
         (long long)length, axis == TOKENS ? "tokens" : "frames", (long long)limit,
         axis == TOKENS ? "" : ", or faster");
}

static array half_of_style(scope *s, const kokoro *k, const utterance *u, int prosody) {
  size_t half = (size_t)k->bundle->style_dim;
  array result = new_array(s, "float32", 2, 1, (int64_t)half, 0);
  memcpy(result.data, u->style + (prosody ? half : 0), half * sizeof(float));
  return result;
}

static array tokens_of(scope *s, const utterance *u) {
  array result = new_array(s, "int64", 2, 1, (int64_t)u->token_count, 0);
  memcpy(result.data, u->tokens, u->token_count * sizeof *u->tokens);
  return result;
}

const float *predict(scope *s, kokoro *k, utterance *u) {
  int64_t tokens = (int64_t)u->token_count;
  array first, result[2];
  check_length(s, k, TOKENS, tokens);
  array ids = tokens_of(s, u);
  run(s, k, BERT, tokens, &ids, 1, &first, 1);
  array inputs[2] = {first, half_of_style(s, k, u, 1)};
  run(s, k, DURATION, tokens, inputs, 2, result, 2);
  if (elements_of(&result[0]) != tokens || result[1].extents != 3 || result[1].shape[0] != 1)
    fail(s, KOKORO_BUNDLE, "The duration component gave other shapes than one utterance has. Build the bundle again.");
  u->channels = result[1].shape[1];
  u->features = take(s, &u->kept, (size_t)elements_of(&result[1]), sizeof *u->features);
  memcpy(u->features, result[1].data, (size_t)elements_of(&result[1]) * sizeof *u->features);
  return result[0].data;
}

void set_durations(const kokoro *k, utterance *u, int64_t *durations) {
  u->durations = durations;
  u->frames = 0;
  for (size_t i = 0; i < u->token_count; ++i) u->frames += durations[i];
  u->speech.durations = durations;
  u->speech.samples = (size_t)(u->frames * k->bundle->samples_per_frame);
}

void check_frames(scope *s, const kokoro *k, const utterance *u) { check_length(s, k, FRAMES, u->frames); }

/* Repeat features of tokens (channels, tokens) over their frames from `first` to before `last`: (1, channels, frames). */
static array repeat_features(scope *s, const utterance *u, const float *features, int64_t channels, int64_t first,
                             int64_t last) {
  array result = new_array(s, "float32", 3, 1, channels, last - first);
  float *out = result.data;
  for (int64_t channel = 0; channel < channels; ++channel) {
    int64_t frame = 0;
    for (size_t token = 0; token < u->token_count; ++token, ++features)
      for (int64_t end = frame + u->durations[token]; frame < end; ++frame)
        if (frame >= first && frame < last) *out++ = *features;
  }
  return result;
}

/* Return the values of a curve (1, 2 * frames) from frame `first` to before `last`. */
static array crop_curve(scope *s, const array *curve, int64_t first, int64_t last) {
  if (elements_of(curve) == 2 * (last - first)) return *curve;
  array result = new_array(s, "float32", 2, 1, 2 * (last - first), 0);
  memcpy(result.data, (const float *)curve->data + 2 * first, (size_t)(2 * (last - first)) * sizeof(float));
  return result;
}

/* Return the decoder's source of noise: the caller's noise (1, samples), or both halves of the seed and the number of
 * the piece. */
static array noise_inputs(scope *s, const utterance *u, uint64_t seed, const float *noise, size_t count) {
  if (!noise) {
    array words = new_array(s, "uint32", 1, 3, 0, 0);
    ((uint32_t *)words.data)[0] = (uint32_t)seed;
    ((uint32_t *)words.data)[1] = (uint32_t)(seed >> 32);
    ((uint32_t *)words.data)[2] = u->piece ? u->piece->noise : 0;
    return words;
  }
  if (u->piece) fail(s, KOKORO_INPUT, "A text is spoken with a seed, not with noise. Give a seed.");
  if (count != u->speech.samples)
    fail(s, KOKORO_INPUT, "The noise should be %zu numbers, one for each sample, but has %zu.", u->speech.samples, count);
  array value = new_array(s, "float32", 2, 1, (int64_t)count, 0);
  memcpy(value.data, noise, count * sizeof *noise);
  for (size_t i = 0; i < count; ++i)
    if (!isfinite(noise[i])) fail(s, KOKORO_INPUT, "The noise should be finite, but number %zu is not.", i);
  return value;
}

/* Multiply the pitch (1, 2 * frames) of words by their factors. */
static void change_pitch(const piece *p, float *pitch) {
  const int64_t *durations = p->durations;
  pitch += 2 * *durations++;
  for (size_t i = 0; i < p->words.count; ++i) {
    const word *element = &p->words.all[i];
    for (size_t j = element->phonemes.size + element->space.size; j; --j, ++durations)
      for (int64_t half = 2 * *durations; half; --half) *pitch++ *= (float)element->pitch;
  }
}

/* Compute the silence of a piece without words. */
static void decode_pause(scope *s, utterance *u) {
  if (!u->audio) u->audio = take(s, &u->kept, u->speech.samples + 1, sizeof *u->audio);
  u->speech.audio = u->audio;
}

void decode(scope *s, kokoro *k, utterance *u, uint64_t seed, const float *noise, size_t count) {
  if (u->piece && !u->piece->words.count) {
    decode_pause(s, u);
    return;
  }
  int64_t frames = u->frames, rate = k->bundle->samples_per_frame, first = 0, last = frames;
  if (u->piece) window_of(u->piece, &first, &last);
  int64_t samples = (last - first) * rate;
  array source = noise_inputs(s, u, seed, noise, count), text, curves[2], sound;
  array ids = tokens_of(s, u);
  run(s, k, TEXT_ENCODER, (int64_t)u->token_count, &ids, 1, &text, 1);
  if (text.extents != 3 || text.shape[0] != 1)
    fail(s, KOKORO_BUNDLE, "The text encoder gave another shape than one utterance has. Build the bundle again.");
  array prosody[2] = {repeat_features(s, u, u->features, u->channels, 0, frames), half_of_style(s, k, u, 1)};
  run(s, k, F0N, frames, prosody, 2, curves, 2);
  if (elements_of(&curves[0]) != 2 * frames || elements_of(&curves[1]) != 2 * frames)
    fail(s, KOKORO_BUNDLE, "The f0n component gave other shapes than one utterance has. Build the bundle again.");
  if (u->piece) change_pitch(u->piece, curves[0].data);
  array inputs[5] = {repeat_features(s, u, text.data, text.shape[1], first, last), crop_curve(s, &curves[0], first, last),
                     crop_curve(s, &curves[1], first, last), half_of_style(s, k, u, 0), source};
  run(s, k, noise ? DECODER : SEEDED, last - first, inputs, 5, &sound, 1);
  const float *audio = sound.data;
  if (elements_of(&sound) != samples)
    fail(s, KOKORO_BUNDLE, "The decoder gave another shape than one utterance has. Build the bundle again.");
  for (int64_t i = 0; i < samples; ++i)
    if (!isfinite(audio[i]))
      fail(s, KOKORO_BUNDLE, "The decoder gave audio that is not finite. Build the bundle again.");
  size_t room = (size_t)(frames * rate + (u->piece ? u->piece->pause : 0));
  if (!u->audio) u->audio = take(s, &u->kept, room, sizeof *u->audio);
  memcpy(u->audio + first * rate, audio, (size_t)samples * sizeof *u->audio);
  if (u->piece) finish_audio(u->piece, u->audio, rate, k->bundle->sample_rate);
  u->speech.audio = u->audio;
}
