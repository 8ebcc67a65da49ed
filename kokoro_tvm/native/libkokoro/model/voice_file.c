/* Voice files: style tables that are read as data and checked as in kokoro_tvm/runtime/bundle/voice_files.py and
 * voices.py. */
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 510, LONGEST_NAME = 64, MOST_BYTES = 64 << 20 };
static const char SUFFIX[] = ".bin";
static const double FAR = 4; /* limit of the ratio of norms, see voices.py */

static void close_file(void *resource) { os_close(*(int *)resource); }

/* Return the name of a file without folder and suffix. Fails unless it is a valid name of a voice. */
static char *read_name(scope *s, const char *path) {
  const char *start = path, *end = path + strlen(path);
  for (const char *at = path; *at; ++at)
    if (*at == '/' || *at == '\\') start = at + 1;
  size_t size = (size_t)(end - start), suffix = strlen(SUFFIX);
  if (size < suffix || strcmp(end - suffix, SUFFIX))
    fail(s, KOKORO_INPUT, "%s is no file of a voice: these end in %s here. `kokoro-tvm voices mix NAME -o NAME%s` writes "
                          "one of any other.", path, SUFFIX, SUFFIX);
  char *name = format(s, &s->scratch, "%.*s", (int)(size - suffix), start);
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  if (!*name || name[strspn(name, letters)] || strlen(name) > LONGEST_NAME)
    fail(s, KOKORO_INPUT, "%s: a voice cannot be called so, because signs such as - and + make mixes. Rename it: "
                          "letters, digits and _, at most %d.", path, LONGEST_NAME);
  return name;
}

/* Read a file of at most the size of a voice into scratch memory. */
static char *read_content(scope *s, const char *path, int64_t *size) {
  os_status status;
  int *descriptor = take(s, &s->scratch, 1, sizeof *descriptor);
  if ((*descriptor = os_open(path)) < 0 && errno == ENOENT)
    fail(s, KOKORO_INPUT, "There is no %s. Name a file of a voice.", path);
  if (*descriptor < 0) fail(s, KOKORO_INPUT, "The voice %s cannot be read: %s.", path, strerror(errno));
  give(s, &s->scratch, close_file, descriptor);
  if (os_status_of(*descriptor, &status) || !status.is_file)
    fail(s, KOKORO_INPUT, "The voice %s is not a regular file.", path);
  if (status.size > MOST_BYTES)
    fail(s, KOKORO_INPUT, "The voice %s has %.0f MB, and no voice has more than %.0f. Is it the right file? It was not "
                          "read.", path, (double)status.size / 1e6, MOST_BYTES / 1e6);
  char *content = take(s, &s->scratch, (size_t)status.size, 1);
  int64_t count = 1;
  for (*size = 0; *size < status.size && count > 0; *size += count > 0 ? count : 0)
    count = os_read(*descriptor, content + *size, (size_t)(status.size - *size), *size);
  if (count < 0) fail(s, KOKORO_INPUT, "The voice %s cannot be read: %s.", path, strerror(errno));
  return content;
}

static double norm_of(const float *row, size_t width) {
  double sum = 0;
  for (size_t i = 0; i < width; ++i) sum += (double)row[i] * row[i];
  return sqrt(sum);
}

/* Set the smallest and largest norm of a row of the bundle's voices. */
static void measure_norms(kokoro *k, size_t width) {
  k->least_norm = HUGE_VAL;
  for (int64_t i = 0; i < k->voices.count; ++i)
    for (int64_t at = 0; at < k->voices.all[i].elements; at += (int64_t)width) {
      double norm = norm_of((const float *)k->voices.all[i].data + at, width);
      if (norm < k->least_norm) k->least_norm = norm;
      if (norm > k->most_norm) k->most_norm = norm;
    }
}

static void check_table(scope *s, kokoro *k, const char *path, const char *name, const float *table, int64_t rows) {
  size_t width = (size_t)(2 * k->bundle->style_dim);
  int64_t furthest = 0;
  double far = -1;
  for (int64_t i = 0; i < rows * (int64_t)width; ++i)
    if (!isfinite(table[i]))
      fail(s, KOKORO_INPUT, "The voice %s has NaN or infinity in it, first in row %lld: export it again.", path,
           (long long)(i / (int64_t)width));
  if (!k->most_norm) measure_norms(k, width);
  double least = k->least_norm, most = k->most_norm;
  for (int64_t row = 0; row < rows; ++row) {
    double norm = norm_of(table + row * (int64_t)width, width);
    double off = fabs(log((norm > 1e-30 ? norm : 1e-30) / sqrt(least * most)));
    if (off > far) far = off, furthest = row;
  }
  double norm = norm_of(table + furthest * (int64_t)width, width);
  if (!(norm >= least / FAR && norm <= most * FAR))
    fail(s, KOKORO_INPUT, "The voice %s is far from all that the model was trained with: row %lld has the norm %.3g, and "
                          "theirs are %.3g to %.3g. Is it a style of this model?",
         name, (long long)furthest, norm, least, most);
}

const char *add_voice(scope *s, kokoro *k, const char *path) {
  int64_t size, width = 2 * k->bundle->style_dim, count = k->voices.count, place = 0;
  if (!path) fail(s, KOKORO_INPUT, "There is no file of a voice.");
  char *name = read_name(s, path), *content = read_content(s, path, &size);
  if (size >= 2 && memcmp(content, "PK", 2) == 0)
    fail(s, KOKORO_INPUT, "The voice %s is an archive of several; save each on its own, with numpy.save.", path);
  if (size % 4)
    fail(s, KOKORO_INPUT, "The voice %s has %lld bytes, and float32 values have 4 each.", path, (long long)size);
  int64_t numbers = size / 4, rows = numbers == width ? 1 : ROWS;
  if (numbers != rows * width)
    fail(s, KOKORO_INPUT, "The voice %s has the shape %lld, not %d x 1 x %lld, %d x %lld or %lld.", path,
         (long long)numbers, ROWS, (long long)width, ROWS, (long long)width, (long long)width);
  for (; place < count && strcmp(k->voices.all[place].name, name) <= 0; ++place)
    if (strcmp(k->voices.all[place].name, name) == 0)
      fail(s, KOKORO_INPUT, "There is a voice %s already. Rename the file.", name);
  check_table(s, k, path, name, (const float *)content, rows);
  /* Nothing can fail any more but memory. The old tables stay valid. */
  tensor *all = take(s, s->kept, (size_t)count + 1, sizeof *all), *added = all + place;
  memcpy(all, k->voices.all, (size_t)place * sizeof *all);
  memcpy(all + place + 1, k->voices.all + place, (size_t)(count - place) * sizeof *all);
  *added = (tensor){.name = format(s, s->kept, "%s", name), .elements = numbers, .size = size};
  added->data = memcpy(take(s, s->kept, (size_t)size, 1), content, (size_t)size);
  k->voices = (tensors){all, count + 1};
  return added->name;
}
