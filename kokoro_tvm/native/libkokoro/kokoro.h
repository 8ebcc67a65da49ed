/* libkokoro: speech from text or phonemes with a bundle that kokoro-tvm built.
 *
 *   kokoro *bundle;
 *   kokoro_speech *speech;
 *   kokoro_error error;
 *   kokoro_text text = {"Hello, world.", "af_heart", 1.0};
 *   if (kokoro_open("artifacts/cpu", NULL, 0, &bundle, &error)) return puts(error.text), error.code;
 *   if (kokoro_say_text(bundle, &text, 0, &speech, &error)) ...
 *   fwrite(speech->audio, sizeof(float), speech->samples, file);
 *   kokoro_free(speech);
 *   kokoro_close(bundle);
 *
 * Text is UTF-8 and ends with a NUL. Any number of threads may use a bundle; what they request is computed one
 * after the other, by a thread of the bundle's own and the threads that TVM adds to it. A speech belongs to one
 * thread at a time.
 */
#ifndef KOKORO_H
#define KOKORO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KOKORO_API /* for Windows it is given when the library is compiled; importing needs none */
#ifdef _WIN32
#define KOKORO_API
#else
#define KOKORO_API __attribute__((visibility("default")))
#endif
#endif

/* What a function returns. All but KOKORO_TOO_LONG are the exit statuses of kokoro-tvm. */
enum {
  KOKORO_OK = 0,
  KOKORO_SYSTEM = 1,   /* no memory, or no thread */
  KOKORO_INPUT = 2,    /* what was requested cannot be spoken */
  KOKORO_BUNDLE = 5,   /* the bundle is missing, damaged, of another version or for another machine */
  KOKORO_TOO_LONG = 6  /* the utterance exceeds the largest bucket: divide it, or speak faster */
};

/* What happened, where, and what to do about it; empty after a success. Every function takes NULL in its place. */
typedef struct kokoro_error {
  int code;
  char text[2044];
} kokoro_error;

typedef struct kokoro kokoro; /* an open bundle */

/* An utterance: phonemes or tokens, in a voice or a style. Whatever is not used is NULL or 0, but for speed. */
typedef struct kokoro_request {
  const char *phonemes;  /* in the model's alphabet; what it does not know is left out, with a notice */
  const int64_t *tokens; /* in place of phonemes: ids, with the 0 at both ends */
  size_t token_count;
  const char *voice;  /* a name, or a mix such as "af_heart,am_adam" or "af_heart(2)+am_adam-bf_emma"; without it and
                         a style af_heart, or the first of a bundle without that */
  const float *style; /* in place of a voice: 2 * style_dim numbers, one row of a voice's table */
  double speed;       /* 1 as the model speaks, above it faster */
} kokoro_request;

/* A word or a mark, and its samples as a slice. */
typedef struct kokoro_word {
  const char *text; /* phonemes */
  int64_t start_sample, end_sample;
  int spoken; /* 0: a mark */
} kokoro_word;

/* The bytes of a text that a word stands for, as a slice. */
typedef struct kokoro_place {
  size_t start, end;
} kokoro_place;

/* One utterance, or a whole text, to be read only. */
typedef struct kokoro_speech {
  size_t samples;           /* known before the audio is */
  const float *audio;       /* samples; they may exceed 1 in magnitude. NULL until kokoro_decode */
  const int64_t *durations; /* frames of every token, the marks at both ends included */
  size_t token_count;
  const kokoro_word *words; /* none of a request of tokens */
  size_t word_count;
  const char *notice; /* what was left out, and a speed beyond 0.25 to 4, a line each; "" where there is nothing */
  const kokoro_place *places; /* of the words; NULL unless it was a text that was requested */
} kokoro_speech;

/* A text to be spoken, in the language of its voice: letters and marks are read as Synthesizer of Python reads them with
 * markup=False, where espeak-ng is not installed. */
typedef struct kokoro_text {
  const char *text;
  const char *voice; /* a name, a mix or NULL, as in kokoro_request */
  double speed;      /* 1 as the model speaks, above it faster */
} kokoro_text;

typedef struct kokoro_plan kokoro_plan; /* a text on its way to speech */

/* Threads that compute together, at most: the system does not start any number, and TVM aborts where one fails. */
enum { KOKORO_MOST_THREADS = 1024 };

/* Opens the bundle in a folder, once every file was compared with its manifest: its code is executed.
 *
 * sha256: the digest that bundle.json must have, 64 hexadecimal digits, or NULL. threads: 1 to KOKORO_MOST_THREADS, or
 * 0 for TVM_NUM_THREADS of the environment, else the usable cores. Fails with KOKORO_BUNDLE, KOKORO_INPUT (sha256,
 * threads) or KOKORO_SYSTEM; `*bundle` is NULL then. */
KOKORO_API int kokoro_open(const char *folder, const char *sha256, int threads, kokoro **bundle,
                           kokoro_error *error);

/* Closes a bundle that no thread uses any more; NULL is allowed. Its speeches stay. */
KOKORO_API void kokoro_close(kokoro *bundle);

/* Warnings about the bundle, one a line; "" where there are none. */
KOKORO_API const char *kokoro_notice(const kokoro *bundle);

KOKORO_API int kokoro_sample_rate(const kokoro *bundle); /* Hz */
KOKORO_API size_t kokoro_samples_per_frame(const kokoro *bundle);
KOKORO_API size_t kokoro_style_dim(const kokoro *bundle);

/* The names of the voices in alphabetical order; NULL from kokoro_voice_count on. */
KOKORO_API size_t kokoro_voice_count(const kokoro *bundle);
KOKORO_API const char *kokoro_voice_name(const kokoro *bundle, size_t index);

/* Adds a voice of one's own to those of an open bundle: a file of float32 numbers, little-endian, 510 rows of
 * 2 * style_dim or one row, which is called as it is, without `.bin`: letters, digits and _, as the bundle has none yet.
 *
 * The file is read as data, and refused where its size, its numbers or their norms are no voice's. `*name` is the
 * voice's from then on, NULL after a failure; `name` may be NULL. Fails with KOKORO_INPUT or KOKORO_SYSTEM. Other
 * threads may speak meanwhile, and not list voices. */
KOKORO_API int kokoro_add_voice(kokoro *bundle, const char *path, const char **name, kokoro_error *error);

/* Finds how long every token lasts, and with it the words' times and the number of samples.
 *
 * Phonemes are spoken as Synthesizer.from_phonemes speaks one utterance, tokens as Synthesizer.run does. Fails
 * with any code; `*speech` is NULL then. */
KOKORO_API int kokoro_predict(kokoro *bundle, const kokoro_request *request, kokoro_speech **speech,
                              kokoro_error *error);

/* Computes the audio of a speech that the same bundle predicted.
 *
 * seed: of the noise in it, which compiled code draws, the same from Python. noise: in its place standard normal
 * numbers, `count` of them, one for each sample; NULL with a seed. Fails with KOKORO_INPUT (noise), KOKORO_BUNDLE
 * or KOKORO_SYSTEM; the speech has no audio then. */
KOKORO_API int kokoro_decode(kokoro *bundle, kokoro_speech *speech, uint64_t seed, const float *noise, size_t count,
                             kokoro_error *error);

/* Speaks a text: `seed` is that of the noise. `*speech` has all of it, with its audio and its words' places.
 *
 * It is, sample for sample, what Synthesizer of Python makes of the text. Fails with KOKORO_INPUT where nothing can be
 * spoken, or where the voice speaks a language that is not read, and with any code but KOKORO_TOO_LONG: what is longer
 * than the largest bucket is divided. `*speech` is NULL then. */
KOKORO_API int kokoro_say_text(kokoro *bundle, const kokoro_text *text, uint64_t seed, kokoro_speech **speech,
                               kokoro_error *error);

/* Begins a text that is spoken piece by piece: the first is heard while the others are still text. Its bundle has to stay
 * open. Fails as kokoro_say_text does; `*plan` is NULL then. */
KOKORO_API int kokoro_plan_text(kokoro *bundle, const kokoro_text *text, kokoro_plan **plan, kokoro_error *error);

/* The next piece of a text, as kokoro_predict leaves a speech; NULL behind the last. kokoro_decode computes its audio, with
 * a seed; pieces one behind the other are the speech of kokoro_say_text: the silence between them is at their ends. Words
 * are counted from the beginning of the piece. Fails as kokoro_say_text does. */
KOKORO_API int kokoro_next_piece(kokoro_plan *plan, kokoro_speech **speech, kokoro_error *error);

/* What came up in the last call of kokoro_next_piece, as `notice` of its speech has it, behind the last piece too. */
KOKORO_API const char *kokoro_plan_notice(const kokoro_plan *plan);

/* Frees a plan; NULL is allowed. Its speeches stay. */
KOKORO_API void kokoro_free_plan(kokoro_plan *plan);

/* Frees a speech; NULL is allowed. */
KOKORO_API void kokoro_free(kokoro_speech *speech);

#ifdef __cplusplus
}
#endif

#endif
