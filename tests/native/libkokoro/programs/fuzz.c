/* Fuzzer of manifests, tensors, libraries, phonemes and arguments: each mutation is refused with a code and a message,
 * or works.
 *
 * fuzz BUNDLE FOLDER FIRST COUNT: FOLDER has every file of the bundle except bundle.json. Case k is the same in every
 * run. */
#include "model/model.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct text {
  char *bytes;
  size_t size;
} text;

static uint64_t state;
static unsigned opened, spoken, refused;
static text described, numbers, code, voice; /* inputs to mutate */

static uint64_t number(uint64_t below) { /* xorshift64* (Vigna 2016) */
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return (state * 0x2545F4914F6CDD1Du >> 16) % (below ? below : 1);
}

static void die(const char *what, uint64_t which) {
  fprintf(stderr, "%s, case %llu\n", what, (unsigned long long)which);
  exit(9);
}

static text read_all(const char *path) {
  text result = {NULL, 0};
  FILE *in = fopen(path, "rb");
  if (!in || fseek(in, 0, SEEK_END)) die(path, 0);
  result.size = (size_t)ftell(in);
  result.bytes = malloc(result.size + 1);
  rewind(in);
  if (fread(result.bytes, 1, result.size, in) != result.size) die(path, 0);
  result.bytes[result.size] = 0;
  fclose(in);
  return result;
}

static const char *const WORDS[] = {
    "null", "true", "[]", "{}", "\"\"", "-1", "0", "1", "3", "2147483648", "9223372036854775807", "1e400", "-0.5",
    "99999999999999999999", "\"..\"", "\"../x\"", "\"/\"", "\"\\u0000\"", "\"\\ud800\"", "\"\\ud83d\\ude00\"",
    "\"frames\"", "\"masked\"", "\"float16\"", "\"int64\"", "[1, \"T\"]", "[0]", "[1, 2, 3, 4, 5, 6, 7, 8, 9]",
    "\"length\"", "\"audio\"", "{", "]", ",", "\"", "\\", "\xff", "\xc3"};

/* Return a copy with one to three changes. */
static text mutated(text from) {
  text result = {malloc(2 * from.size + 4096), from.size};
  memcpy(result.bytes, from.bytes, from.size);
  for (uint64_t left = number(2) ? 1 : 1 + number(3); left && result.size; --left) {
    size_t at = number(result.size), end;
    const char *word = WORDS[number(sizeof WORDS / sizeof *WORDS)];
    switch (number(6)) {
      case 0: result.bytes[at] = (char)number(256); break;
      case 1: result.bytes[at] ^= (char)(1 << number(8)); break;
      case 2: result.size = at; break;
      case 3: /* delete some bytes */
        end = at + 1 + number(8);
        if (end > result.size) break;
        memmove(result.bytes + at, result.bytes + end, result.size - end);
        result.size -= end - at;
        break;
      default: /* replace a value after a colon or comma */
        while (at < result.size && !strchr(":,[", result.bytes[at])) ++at;
        if (at >= result.size) break;
        end = ++at;
        while (end < result.size && !strchr(",}]", result.bytes[end])) ++end;
        if (result.size - (end - at) + strlen(word) > 2 * from.size + 4000) break;
        memmove(result.bytes + at + strlen(word), result.bytes + end, result.size - end);
        memcpy(result.bytes + at, word, strlen(word));
        result.size = result.size - (end - at) + strlen(word);
    }
  }
  result.bytes[result.size] = 0;
  return result;
}

static int checked(int code, const kokoro_error *error, const void *result, uint64_t which) {
  if (error->code != code || !*error->text != !code || !result != !!code) {
    fprintf(stderr, "%d, %d: %s\n", code, error->code, error->text);
    die("code, text and result disagree", which);
  }
  refused += code != 0;
  if (code && code != KOKORO_INPUT && code != KOKORO_BUNDLE && code != KOKORO_TOO_LONG) die(error->text, which);
  return code;
}

static void speak(kokoro *bundle, const kokoro_request *expected, uint64_t which) {
  kokoro_error error = {77, "nothing"};
  kokoro_speech *speech = NULL;
  int code = kokoro_predict(bundle, expected, &speech, &error);
  if (checked(code, &error, speech, which)) return;
  size_t count = speech->samples;
  if (count < 1 << 20) {
    float *noise = calloc(count + 1, sizeof *noise);
    if (number(4) == 0) noise[number(count)] = 1e30f * 1e30f;
    size_t value = number(4) ? count : number(count);
    code = kokoro_decode(bundle, speech, which, number(3) ? noise : NULL, value, &error);
    spoken += !checked(code, &error, speech->audio, which);
    free(noise);
  }
  kokoro_free(speech);
}

static void try_manifest(const char *folder, uint64_t which) {
  char path[4096];
  kokoro *bundle = NULL;
  kokoro_error error = {77, "nothing"};
  kokoro_request expected = {"abc.", NULL, 0, "af_heart", NULL, 1.0};
  text result = mutated(described);
  snprintf(path, sizeof path, "%s/bundle.json", folder);
  FILE *out = fopen(path, "wb");
  if (!out || fwrite(result.bytes, 1, result.size, out) != result.size || fclose(out)) die("no file", which);
  free(result.bytes);
  int code = kokoro_open(folder, NULL, 1, &bundle, &error);
  if (checked(code, &error, bundle, which)) return;
  ++opened;
  speak(bundle, &expected, which);
  kokoro_close(bundle);
}

static void try_request(kokoro *bundle, uint64_t which) {
  static const text samples[] = {{"ab, “c” ☃ d.", 18}, {"af_heart, am_adam", 17}, {"\n\t ", 3}, {"…—", 6},
                                 {"af_heart( 2.5 )+am_adam-bf_emma(.25)", 36}};
  static const double speeds[] = {1, 0.5, 2, 0, -1, 1e-320, 1e308, 1e-3, 0.01};
  int64_t tokens[64];
  float style[64] = {0};
  text phonemes = mutated(samples[number(4)]), voice = mutated(samples[number(3) ? 1 + 3 * number(2) : 0]);
  kokoro_request expected = {number(4) ? phonemes.bytes : NULL, tokens, number(64), number(8) ? "af_heart" : voice.bytes,
                           NULL, number(3) ? speeds[number(9)] : 1};
  uint64_t bits = number(UINT64_MAX) << 16 ^ number(UINT64_MAX);
  if (number(8) == 0) memcpy(&expected.speed, &bits, sizeof bits);
  for (size_t i = 0; i < 64; ++i) tokens[i] = (int64_t)number(32) - (number(32) == 0);
  if (number(8) == 0) expected.style = style, style[number(64)] = 1e38f;
  if (number(16) == 0) expected.voice = NULL;
  speak(bundle, &expected, which);
  free(phonemes.bytes);
  free(voice.bytes);
}

static void try_voice(kokoro *bundle, const char *folder, uint64_t which) {
  char path[4096];
  const char *name = "nothing";
  kokoro_error error = {77, "nothing"};
  text result = mutated(voice);
  snprintf(path, sizeof path, "%s/v%llu%s.bin", folder, (unsigned long long)which, number(16) ? "" : "-");
  FILE *out = fopen(path, "wb");
  if (!out || fwrite(result.bytes, 1, result.size, out) != result.size || fclose(out)) die("no file", which);
  free(result.bytes);
  int code = kokoro_add_voice(bundle, path, &name, &error);
  kokoro_request expected = {"abc.", NULL, 0, name, NULL, 1.0};
  remove(path);
  if (!checked(code, &error, name, which)) speak(bundle, &expected, which);
}

/* Run a body like a call of the library. */
static void attempt(void (*body)(scope *, text, void *), text from, void *argument, uint64_t which) {
  char message[2048] = "";
  arena kept = {NULL};
  scope *s = calloc(1, sizeof *s);
  s->message = message;
  s->message_size = sizeof message;
  s->kept = &kept;
  text result = mutated(from);
  if (setjmp(s->failed) == 0) body(s, result, argument);
  refused += s->code != 0;
  if (s->code && (s->code != FAILURE_BUNDLE || !*message)) die("another failure than a bundle's", which);
  release(&kept);
  release(&s->scratch);
  free(s);
  free(result.bytes);
}

static void try_json(scope *s, text result, void *file) {
  char why[120] = "";
  json *candidate = parse(s, result.bytes, result.size, file, why);
  if (!candidate != !!*why) die("no JSON without a reason", 0);
}

static void try_tensors(scope *s, text result, void *path) {
  file opened = {path, (int64_t)result.size, "", open(path, O_RDWR | O_CREAT | O_TRUNC, 0600)};
  if (opened.descriptor < 0 || write(opened.descriptor, result.bytes, result.size) != (ssize_t)result.size) die(path, 0);
  jmp_buf outer;
  memcpy(&outer, &s->failed, sizeof outer);
  if (setjmp(s->failed) == 0) {
    tensors candidate = map_tensors(s, &opened);
    unsigned sum = 0;
    for (int64_t i = 0; i < candidate.count; ++i) /* read every byte */
      for (int64_t j = 0; j < candidate.all[i].size; j += 64) sum += ((unsigned char *)candidate.all[i].data)[j];
    if (sum == 1) putchar(' ');
  }
  close(opened.descriptor);
}

static void try_library(scope *s, text result, void *unused) {
  manifest bundle = {.length_name = "exact", .precision = "float32"};
  component part = {.name = "bert"};
  library element = {16, {"bert-16.so", (int64_t)result.size, "", -1}};
  (void)unused;
  check_library(s, &bundle, &part, &element, result.bytes);
}

int main(int count, char **words) {
  char path[4096];
  kokoro *bundle;
  kokoro_error error;
  if (count != 5) return 2;
  uint64_t first = strtoull(words[3], NULL, 10), cases = strtoull(words[4], NULL, 10);
  snprintf(path, sizeof path, "%s/bundle.json", words[1]);
  described = read_all(path);
  snprintf(path, sizeof path, "%s/voices.safetensors", words[1]);
  numbers = read_all(path);
  snprintf(path, sizeof path, "%s/bert-16.so", words[1]);
  code = read_all(path);
  voice.size = 510 * 4 * sizeof(float); /* of the last case */
  voice.bytes = memcpy(malloc(voice.size), numbers.bytes + numbers.size - voice.size, voice.size);
  if (numbers.size > 4096) numbers.size = 4096; /* so that changes hit the header */
  for (char *at = code.bytes + 8; at + 18 < code.bytes + code.size; ++at)
    if (memcmp(at, "relax.VMExecutable", 18) == 0) { /* of a library, from the parsed part on */
      code.size -= (size_t)(at - 8 - code.bytes);
      memmove(code.bytes, at - 8, code.size);
      break;
    }
  if (kokoro_open(words[1], NULL, 1, &bundle, &error)) die(error.text, 0);
  snprintf(path, sizeof path, "%s/tensors", words[2]);
  for (uint64_t which = first; which < first + cases; ++which) {
    state = (which + 1) * 0x9E3779B97F4A7C15u;
    switch (which % 6) {
      case 0: try_manifest(words[2], which); break;
      case 1: attempt(try_json, described, "bundle.json", which); break;
      case 2: attempt(try_tensors, numbers, path, which); break;
      case 3: attempt(try_library, code, NULL, which); break;
      case 4: try_voice(bundle, words[2], which); break;
      default: try_request(bundle, which);
    }
  }
  kokoro_close(bundle);
  free(described.bytes), free(numbers.bytes), free(code.bytes), free(voice.bytes);
  printf("%llu cases: %u bundles opened, %u spoken, %u refused\n", (unsigned long long)cases, opened, spoken, refused);
  return 0;
}
