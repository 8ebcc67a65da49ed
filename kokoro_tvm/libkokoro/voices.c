/* Voices: style tables by name, and mixes of them, as kokoro_tvm/runtime/voices.py has them. */
#include "handle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b) {
  return strcmp(((const tensor *)a)->name, ((const tensor *)b)->name);
}

void open_voices(scope *s, kokoro *k) {
  k->voices = map_tensors(s, &k->bundle->voices);
  int64_t width = 2 * k->bundle->style_dim;
  for (int64_t i = 0; i < k->voices.count; ++i) {
    const tensor *each = &k->voices.all[i];
    if (strcmp(each->type->name, "float32") || !each->elements || each->elements % width)
      fail(s, KOKORO_BUNDLE, "%s: the voice %s is not float32 rows of %lld. Build the bundle again.",
           k->bundle->voices.path, each->name, (long long)width);
  }
  qsort(k->voices.all, (size_t)k->voices.count, sizeof *k->voices.all, by_name);
}

static const tensor *find_voice(scope *s, const kokoro *k, const char *name, size_t size) {
  for (int64_t i = 0; i < k->voices.count; ++i)
    if (strlen(k->voices.all[i].name) == size && memcmp(k->voices.all[i].name, name, size) == 0)
      return &k->voices.all[i];
  const char *some = "";
  for (int64_t i = 0; i < k->voices.count && i < 3; ++i)
    some = format(s, &s->scratch, "%s%s%s", some, i ? ", " : "", k->voices.all[i].name);
  if (!size) fail(s, KOKORO_INPUT, "The name of a voice is empty. There are %lld, such as %s.", (long long)k->voices.count, some);
  fail(s, KOKORO_INPUT, "There is no voice '%.*s' in this bundle. It has %lld, such as %s.", size > 60 ? 60 : (int)size,
       name, (long long)k->voices.count, some);
}

/* The mean of the rows, summed in the order of the names in float32, as numpy does it. */
void read_style(scope *s, const kokoro *k, utterance *u, const char *voice, int64_t symbols) {
  size_t width = (size_t)(2 * k->bundle->style_dim);
  int64_t rows = 0;
  int count = 0;
  float *one = take(s, &s->scratch, width, sizeof *one);
  for (const char *name = voice;; name += strcspn(name, ",") + 1) {
    size_t size = strcspn(name, ","), blank = strspn(name, " \t\r\n\v\f");
    const char *start = name + (blank < size ? blank : size);
    size_t length = size - (size_t)(start - name);
    while (length && strchr(" \t\r\n\v\f", start[length - 1])) --length;
    const tensor *table = find_voice(s, k, start, length);
    int64_t found = table->elements / (int64_t)width;
    if (count && found != rows)
      fail(s, KOKORO_INPUT, "The voices '%.200s' have tables of different lengths and cannot be mixed.", voice);
    rows = found;
    int64_t row = symbols < 1 ? 0 : symbols > rows ? rows - 1 : symbols - 1;
    memcpy(one, (const float *)table->data + (size_t)row * width, width * sizeof *one);
    for (size_t i = 0; i < width; ++i) u->style[i] = count ? u->style[i] + one[i] : one[i];
    ++count;
    if (!name[size]) break;
  }
  for (size_t i = 0; count > 1 && i < width; ++i) u->style[i] /= (float)count;
}
