/* An open bundle and an utterance of it. */
#ifndef KOKORO_MODEL_H
#define KOKORO_MODEL_H

#include "bundle/bundle.h"
#include "kokoro.h"
#include "text/text.h"

struct kokoro {
  arena kept;
  struct worker *worker; /* in library.c */
  long process; /* id of the process that opened it */
  int threads;
  manifest *bundle;
  const char *notice;
  void **functions[ENTRIES];     /* one per bucket */
  void **parameters[COMPONENTS]; /* TVM's tensors, shared by all buckets */
  int64_t reserved[COMPONENTS];  /* steps of length for which the last call reserved memory */
  tensors voices;                /* in alphabetical order */
  double least_norm, most_norm;  /* of rows of the bundle's voices; 0 until a voice is added */
  tensors front_end;             /* empty if the bundle has no front end */
  const reader *readers[sizeof READ_LANGUAGES]; /* NULL until a text in that language is read */
};

/* A word's part of the tokens. */
typedef struct measured {
  int64_t symbols, spaces; /* tokens of the word, and of the space after it */
  double rate;             /* factor on the speed */
  int spoken;
} measured;

typedef struct utterance {
  kokoro_speech speech; /* the public part */
  arena kept;
  int64_t *tokens, *durations; /* of the utterance; `speech` has those that are heard, if it is a part */
  size_t token_count, word_count;
  float *style;    /* 2 * style_dim numbers */
  float *features; /* (channels, tokens) */
  float *audio;    /* NULL until the first decoding */
  int64_t channels, frames;
  const piece *piece; /* of a text; NULL: the decoder's audio is the speech */
  kokoro_word *words;
  measured *measures; /* one per word */
  double speed;
} utterance;

/* phonemes.c: read phonemes or tokens into the utterance; read_phonemes returns the number of symbols. Fail. */
int64_t read_phonemes(scope *s, const kokoro *k, utterance *u, const char *phonemes);
void read_tokens(scope *s, const kokoro *k, utterance *u, const int64_t *tokens, size_t count);
/* voices.c: open the tables; add the row of a voice or a mix for a number of symbols to `style`, which is zero. Fail. */
void open_voices(scope *s, kokoro *k);
const char *default_voice(const kokoro *k);
void read_style(scope *s, const kokoro *k, utterance *u, const char *voice, int64_t symbols);
/* voice_file.c: add the voice of a file and return its name. On a failure, no voice is added. */
const char *add_voice(scope *s, kokoro *k, const char *path);
/* voices.c: return the language of a voice or a mix; `*notice` gets a notice, or "". Fails. */
const spoken_language *language_of(scope *s, const kokoro *k, const char *voice, const char **notice);
/* model.c: load the components; run them. `predict` sets the features and returns the durations of the tokens, in frames at
 * speed 1; `set_durations` sets them in frames, any number of which `check_frames` checks. Fail. */
void load_components(scope *s, kokoro *k);
void check_frames(scope *s, const kokoro *k, const utterance *u);
const float *predict(scope *s, kokoro *k, utterance *u);
void set_durations(const kokoro *k, utterance *u, int64_t *durations);
void decode(scope *s, kokoro *k, utterance *u, uint64_t seed, const float *noise, size_t count);
/* words.c: set the samples of words with known durations. samples: length of the speech without its pause; before:
 * samples cut off at its beginning. */
void time_words(const kokoro *k, utterance *u, int64_t before, int64_t samples);
/* phonemes.c: return the model's id of a symbol, or -1. */
int64_t id_of(const kokoro *k, int32_t symbol);

/* ---- tvm.c: the TVM runtime through the C ABI of tvm_ffi, for the computing thread of a bundle alone ---- */

/* A tensor. `object` is TVM's over the same memory. */
typedef struct array {
  const dtype *type;
  int extents;
  int64_t shape[EXTENTS];
  void *data;
  void *object;
} array;

int64_t elements_of(const array *element);

/* Return a zeroed array with `extents` extents on a 64-byte boundary. It lives as long as the call. Fails. */
array new_array(scope *s, const char *type, int extents, int64_t a, int64_t b, int64_t c);

/* Return TVM's tensor over memory that lives as long as the arena. Fails. */
void *wrap(scope *s, arena *with, const port *port, void *data);

/* Load the TVM runtime once per process: the loaded one, that of TVM_LIBRARY_PATH, the bundle's, or an installed one.
 * Other calls wait until this one ends. Fails. */
void load_runtime(scope *s, const manifest *bundle);

/* Let code that this thread calls use `count` threads on any cores of the process. Fails. */
void use_threads(scope *s, int count);
int usable_cores(scope *s);

/* Load functions of a component from a library whose bytes are compared with the manifest. Fails. */
void load_functions(scope *s, const manifest *bundle, const component *component, const library *library,
                    const char *const *names, void **functions, int count);

/* Call a function with TVM's objects. At most `most` results live as long as the call. Return NULL, or the reason of an
 * error in scratch memory. */
const char *call(scope *s, void *function, void *const *objects, int count, array *results, int most, int *got);

/* Empty the allocator's pool, which reuses blocks of equal size only. Fails. */
void release_memory(scope *s);

#endif
