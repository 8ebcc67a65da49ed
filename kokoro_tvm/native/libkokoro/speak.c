/* speak: synthesize a text or phonemes to a WAV file. Example program of libkokoro. */
#include "kokoro.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

static const char USAGE[] =
    "usage: speak BUNDLE TEXT -o FILE.wav [options]\n"
    "\n"
    "  TEXT             in the language of the voice\n"
    "  --phonemes TEXT  in its place: one utterance, in the model's alphabet\n"
    "  --tokens IDS     in its place: the model's, with the 0 at both ends, and commas between them\n"
    "  --voice NAME     or a mix: af_heart,am_adam, or by weights: 'af_heart(2)+am_adam-bf_emma' (af_heart, or the\n"
    "                   first of a bundle without it)\n"
    "  --add FILE.bin   a voice of one's own, called as the file is; it speaks where no other is named\n"
    "  --style FILE     in place of a voice: float32 numbers, a row of a voice's table\n"
    "  --speed NUMBER   above 1 is faster (1)\n"
    "  --seed NUMBER    of the noise in the voice (0)\n"
    "  --noise FILE     in place of a seed: standard normal float32 numbers, one for each sample\n"
    "  -o FILE          the WAV file; without it, nothing is decoded\n"
    "  --words          prints the words: first and last sample, phonemes, and what of TEXT they stand for\n"
    "  --markup         follows brackets such as [pause:0.5s] in TEXT, and SSML\n"
    "  --omit KINDS     leaves out of TEXT: citations, code, math, notes, with commas between them\n"
    "  --durations      prints how many frames each token lasts\n"
    "  --sha256 DIGEST  that bundle.json must have\n"
    "  --threads COUNT  that compute (the usable cores)\n"
    "  --voices         prints the names of the voices, and nothing else\n";

typedef struct options {
  const char *bundle, *text, *phonemes, *tokens, *voice, *add, *style, *speed, *seed, *noise, *output, *sha256, *threads,
      *omit;
  int words, durations, voices, markup, omitted;
} options;

static int refuse(const char *what, const char *which) {
  fprintf(stderr, "speak: %s%s\n\n%s", what, which, USAGE);
  return KOKORO_INPUT;
}

/* Read a file of float32 numbers; NULL on an error. */
static float *read_numbers(const char *path, size_t *count) {
  FILE *in = os_fopen(path, "rb");
  float *numbers = NULL;
  long size = -1;
  if (in && fseek(in, 0, SEEK_END) == 0) size = ftell(in);
  if (size >= 0 && size % (long)sizeof *numbers == 0 && fseek(in, 0, SEEK_SET) == 0) numbers = malloc((size_t)size + 1);
  *count = (size_t)size / sizeof *numbers;
  if (numbers && fread(numbers, sizeof *numbers, *count, in) != *count) free(numbers), numbers = NULL;
  if (in) fclose(in);
  if (!numbers) fprintf(stderr, "speak: %s cannot be read as float32 numbers\n", path);
  return numbers;
}

/* Write a little-endian number. */
static void put(unsigned char *at, size_t value, int bytes) {
  while (bytes--) *at++ = (unsigned char)value, value >>= 8;
}

/* Write a WAV file of 32-bit floats, whole or not at all. Links are followed; pipes and devices are written to. Return
 * 0 on success. */
static int write_wav(const char *path, const float *audio, size_t samples, size_t rate) {
  unsigned char head[58] = "RIFF    WAVEfmt \22\0\0\0\3\0\1\0";
  int is_stream = os_is_stream(path);
  char *linked = os_real_path(path);
  const char *target = linked && !is_stream ? linked : path;
  char *part = malloc(strlen(target) + 6);
  if (!part) return free(linked), 1;
  strcat(strcpy(part, target), is_stream ? "" : ".part");
  put(head + 4, 50 + 4 * samples, 4);
  put(head + 24, rate, 4);
  put(head + 28, 4 * rate, 4);
  put(head + 32, 4, 2);
  put(head + 34, 32, 2);
  memcpy(head + 38, "fact\4\0\0\0", 8);
  put(head + 46, samples, 4);
  memcpy(head + 50, "data", 4);
  put(head + 54, 4 * samples, 4);
  FILE *out = os_fopen(part, "wb");
  int written = out && fwrite(head, 1, sizeof head, out) == sizeof head &&
                fwrite(audio, sizeof *audio, samples, out) == samples;
  if (out && fclose(out)) written = 0;
  if (written && !is_stream && os_replace(part, target)) written = 0;
  if (!written) {
    fprintf(stderr, "speak: %s cannot be written (%s)\n", path, strerror(errno));
    if (!is_stream) os_remove(part);
  }
  free(part);
  free(linked);
  return !written;
}

static int64_t *read_tokens(const char *text, size_t *count) {
  int64_t *tokens = malloc((strlen(text) + 1) * sizeof *tokens);
  char *end = NULL;
  *count = 0;
  for (const char *at = text; tokens; at = end + 1) {
    tokens[(*count)++] = strtoll(at, &end, 10);
    if (end == at || (*end && *end != ',')) break;
    if (!*end) return tokens;
  }
  free(tokens);
  return NULL;
}

static int read_seed(const char *text, uint64_t *seed) {
  char *end;
  errno = 0;
  *seed = strtoull(text, &end, 10);
  int good = *text >= '0' && *text <= '9' && !*end && !errno;
  if (!good) fprintf(stderr, "speak: the seed should be a whole number from 0 to 2^64 - 1, but is %s\n", text);
  return good;
}

/* Read kinds of text with commas between them. */
static int read_kinds(const char *text, int *kinds) {
  static const char *const names[] = {"citations", "code", "math", "notes"}; /* from KOKORO_OMIT_CITATIONS on */
  for (const char *at = text; *at; at += *at == ',') {
    size_t size = strcspn(at, ","), kind = 0;
    while (kind < 4 && (strlen(names[kind]) != size || strncmp(names[kind], at, size) != 0)) ++kind;
    if (kind == 4) {
      fprintf(stderr, "speak: there is no kind of text '%.*s' to leave out; citations, code, math and notes are known\n", (int)size, at);
      return 0;
    }
    *kinds |= KOKORO_OMIT_CITATIONS << kind;
    at += size;
  }
  return 1;
}

/* Print a speech that begins at a sample. */
static void print(const options *o, const kokoro_speech *speech, long long first) {
  if (*speech->notice) fprintf(stderr, "speak: %s\n", speech->notice);
  for (size_t i = 0; o->durations && i < speech->token_count; ++i)
    printf("%lld%c", (long long)speech->durations[i], i + 1 < speech->token_count ? ' ' : '\n');
  for (size_t i = 0; o->words && i < speech->word_count; ++i) {
    const kokoro_word *word = &speech->words[i];
    printf("%lld %lld %s", first + word->start_sample, first + word->end_sample, word->text);
    if (speech->places) {
      const kokoro_place *place = &speech->places[i];
      printf(" %.*s", (int)(place->end - place->start), o->text + place->start);
    }
    putchar('\n');
  }
}

/* Speak a text piece by piece; return the exit status. */
static int read_out(kokoro *bundle, const options *o, const kokoro_request *request, uint64_t seed, kokoro_error *error) {
  kokoro_text text = {o->text, request->voice, request->speed, o->markup ? KOKORO_MARKUP : KOKORO_PLAIN, o->omitted};
  kokoro_plan *plan;
  kokoro_speech *piece = NULL;
  float *audio = NULL;
  size_t samples = 0;
  int code = kokoro_plan_text(bundle, &text, &plan, error);
  while (!code && !(code = kokoro_next_piece(plan, &piece, error)) && piece) {
    print(o, piece, (long long)samples);
    if (o->output && !(code = kokoro_decode(bundle, piece, seed, NULL, 0, error))) {
      float *more = realloc(audio, (samples + piece->samples) * sizeof *audio);
      if (more) memcpy((audio = more) + samples, piece->audio, piece->samples * sizeof *audio);
      else code = KOKORO_SYSTEM, fputs("speak: there is not enough memory\n", stderr);
    }
    samples += piece->samples;
    kokoro_free(piece);
  }
  if (!code && *kokoro_plan_notice(plan)) fprintf(stderr, "speak: %s\n", kokoro_plan_notice(plan));
  if (!code && o->output && write_wav(o->output, audio, samples, (size_t)kokoro_sample_rate(bundle))) code = KOKORO_INPUT;
  free(audio);
  kokoro_free_plan(plan);
  return code;
}

/* Speak one utterance; return the exit status. */
static int speak(kokoro *bundle, const options *o, kokoro_request *request, kokoro_error *error) {
  kokoro_speech *speech;
  size_t count = 0;
  uint64_t seed = 0;
  if (o->seed && !read_seed(o->seed, &seed)) return KOKORO_INPUT;
  if (o->text) return read_out(bundle, o, request, seed, error);
  int code = kokoro_predict(bundle, request, &speech, error);
  if (code) return code;
  print(o, speech, 0);
  float *noise = o->noise ? read_numbers(o->noise, &count) : NULL;
  if (o->noise && !noise) code = KOKORO_INPUT;
  if (o->output && !code) code = kokoro_decode(bundle, speech, seed, noise, count, error);
  if (o->output && !code && write_wav(o->output, speech->audio, speech->samples, (size_t)kokoro_sample_rate(bundle)))
    code = KOKORO_INPUT;
  free(noise);
  kokoro_free(speech);
  return code;
}

static int read_options(int count, char **words, options *o) {
  struct { const char *name, **value; } valued[] = {
      {"--phonemes", &o->phonemes}, {"--tokens", &o->tokens}, {"--voice", &o->voice}, {"--add", &o->add}, {"--style", &o->style},
      {"--speed", &o->speed}, {"--seed", &o->seed}, {"--noise", &o->noise}, {"-o", &o->output}, {"--sha256", &o->sha256},
      {"--threads", &o->threads}, {"--omit", &o->omit}};
  struct { const char *name; int *value; } flags[] = {
      {"--words", &o->words}, {"--durations", &o->durations}, {"--voices", &o->voices},
      {"--markup", &o->markup}};
  for (int i = 1; i < count; ++i) {
    int known = 0;
    for (size_t j = 0; j < sizeof valued / sizeof *valued; ++j) {
      if (strcmp(words[i], valued[j].name)) continue;
      if (i + 1 == count) return refuse("no value after ", words[i]);
      *valued[j].value = words[++i], known = 1;
      break;
    }
    for (size_t j = 0; !known && j < sizeof flags / sizeof *flags; ++j)
      if (strcmp(words[i], flags[j].name) == 0) *flags[j].value = known = 1;
    if (!known && (o->text || (*words[i] == '-' && !o->bundle))) return refuse("unknown argument ", words[i]);
    if (!known && *words[i] == '-' && words[i][1] == '-') return refuse("unknown argument ", words[i]);
    if (!known) *(o->bundle ? &o->text : &o->bundle) = words[i];
  }
  if (!o->bundle) return refuse("no bundle is named", "");
  if (!o->voices && !o->text + !o->phonemes + !o->tokens != 2) return refuse("give either a text, --phonemes or --tokens", "");
  if (o->omit && !o->text) return refuse("--omit is for a text", "");
  if (o->omit && !read_kinds(o->omit, &o->omitted)) return KOKORO_INPUT;
  if (o->text && (o->style || o->noise)) return refuse("a text is spoken in a voice, with a seed", "");
  return o->seed && o->noise ? refuse("give either --seed or --noise", "") : 0;
}

int main(int count, char **words) {
  options o = {0};
  kokoro *bundle;
  kokoro_error error = {0, ""};
  kokoro_request request = {NULL, NULL, 0, NULL, NULL, 1.0};
  char *end = "", *last = "";
  words = os_arguments(&count, words);
  int code = read_options(count, words, &o);
  if (code) return code;
  if (o.speed) request.speed = strtod(o.speed, &end);
  long threads = o.threads ? strtol(o.threads, &last, 10) : 0;
  if (*end || *last || threads < 0 || threads > 1000000) return refuse("no number: ", *end ? o.speed : o.threads);
  code = kokoro_open(o.bundle, o.sha256, (int)threads, &bundle, &error);
  if (code == 0) {
    int64_t *tokens = o.tokens ? read_tokens(o.tokens, &request.token_count) : NULL;
    size_t numbers = 2 * kokoro_style_dim(bundle);
    float *style = o.style ? read_numbers(o.style, &numbers) : NULL;
    if (*kokoro_notice(bundle)) fprintf(stderr, "speak: %s\n", kokoro_notice(bundle));
    request.phonemes = o.phonemes;
    request.tokens = tokens;
    request.style = style;
    if (o.add) code = kokoro_add_voice(bundle, o.add, &request.voice, &error);
    if (o.voice) request.voice = o.voice;
    if (code) {
      /* the message is in `error` */
    } else if (o.voices) {
      for (size_t i = 0; i < kokoro_voice_count(bundle); ++i) puts(kokoro_voice_name(bundle, i));
    } else if ((o.tokens && !tokens) || (o.style && !style) || numbers != 2 * kokoro_style_dim(bundle)) {
      code = refuse("no list of tokens, or no style of this bundle", "");
    } else {
      code = speak(bundle, &o, &request, &error);
    }
    free(tokens);
    free(style);
    kokoro_close(bundle);
  }
  if (*error.text) fprintf(stderr, "speak: %s\n", error.text);
  return code > KOKORO_BUNDLE ? KOKORO_INPUT : code;
}
