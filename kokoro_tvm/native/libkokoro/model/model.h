/* An open bundle and an utterance of it, as the library sees them. */
#ifndef KOKORO_MODEL_H
#define KOKORO_MODEL_H

#include "bundle/bundle.h"
#include "kokoro.h"
#include "text/text.h"

struct kokoro {
  arena kept;
  struct worker *worker; /* library.c */
  long process; /* that opened it */
  int threads;
  manifest *bundle;
  const char *notice;
  void **functions[ENTRIES];     /* one for each bucket */
  void **parameters[COMPONENTS]; /* TVM's tensors, shared by all buckets */
  int64_t reserved[COMPONENTS];  /* steps of length that the last call reserved memory for */
  tensors voices;                /* in alphabetical order */
  double least_norm, most_norm;  /* of rows of the bundle's own; 0 until a voice is added */
  tensors front_end;             /* none where the bundle has no front end */
  const reader *readers[sizeof READ_LANGUAGES]; /* NULL until a text is read in it */
};

/* A word with what its times follow from. */
typedef struct measured {
  int64_t symbols, spaces; /* model's tokens: of the word, and of the space behind it */
  int spoken;
} measured;

typedef struct utterance {
  kokoro_speech speech; /* what the caller sees */
  arena kept;
  int64_t *tokens, *durations;
  float *style;    /* 2 * style_dim */
  float *features; /* (channels, tokens) */
  float *audio;    /* NULL until it was decoded once */
  int64_t channels, frames;
  const piece *piece; /* of a text; NULL: all that the decoder gives is the speech */
  kokoro_word *words;
  measured *measures; /* of words */
  double speed;
} utterance;

/* phonemes.c: the tokens and words of a string of phonemes, and how many symbols it has. Fail. */
int64_t read_phonemes(scope *s, const kokoro *k, utterance *u, const char *phonemes);
void read_tokens(scope *s, const kokoro *k, utterance *u, const int64_t *tokens, size_t count);
/* voices.c: the tables; the row of a voice or a mix for so many symbols, into the zeros of `style`. Fail. */
void open_voices(scope *s, kokoro *k);
const char *default_voice(const kokoro *k);
void read_style(scope *s, const kokoro *k, utterance *u, const char *voice, int64_t symbols);
/* voice_file.c: adds the voice of a file; its name. Fails, and then no voice is added. */
const char *add_voice(scope *s, kokoro *k, const char *path);
/* The language that a voice or a mix speaks; `*notice` gets what there is to say about it, "" for nothing. Fails. */
const spoken_language *language_of(scope *s, const kokoro *k, const char *voice, const char **notice);
/* model.c: loads the components; runs them. `predict` finds any number of frames; whether they fit is checked apart. Fail. */
void load_components(scope *s, kokoro *k);
void check_frames(scope *s, const kokoro *k, const utterance *u);
void predict(scope *s, kokoro *k, utterance *u);
void decode(scope *s, kokoro *k, utterance *u, uint64_t seed, const float *noise, size_t count);
/* words.c: samples of words whose durations are known, in a speech of so many samples without its pause, `before` of which
 * are cut off at its beginning. */
void time_words(const kokoro *k, utterance *u, int64_t before, int64_t samples);
/* phonemes.c: the model's id of a symbol, -1 where it does not know it. */
int64_t id_of(const kokoro *k, int32_t symbol);

/* ---- tvm.c: the TVM runtime, through the C ABI of tvm_ffi. All of it is called by the computing thread of a bundle ---- */

/* A tensor. `object` is TVM's over the same memory. */
typedef struct array {
  const dtype *type;
  int extents;
  int64_t shape[EXTENTS];
  void *data;
  void *object;
} array;

int64_t elements_of(const array *each);

/* A zeroed array of `extents` extents on a 64-byte boundary, released with the call. Fails. */
array new_array(scope *s, const char *type, int extents, int64_t a, int64_t b, int64_t c);

/* TVM's tensor over memory that lives as long as the arena. Fails. */
void *wrap(scope *s, arena *with, const port *port, void *data);

/* Loads the TVM runtime once in a process: what is there already, that of TVM_LIBRARY_PATH, what the bundle
 * brings, or an installed one. Bundles are opened one at a time: until the call ends, others wait here. Fails. */
void load_runtime(scope *s, const manifest *bundle);

/* Lets compiled code that this thread calls use so many threads, on any core the process may use. Fails. */
void use_threads(scope *s, int count);
int usable_cores(scope *s);

/* Functions of a component in a library, whose bytes are compared with the manifest. Fails. */
void load_functions(scope *s, const manifest *bundle, const component *component, const library *library,
                    const char *const *names, void **functions, int count);

/* Calls a function with TVM's objects; results, at most `most`, live as long as the call. The reason where it
 * failed, in scratch memory, else NULL. */
const char *call(scope *s, void *function, void *const *objects, int count, array *results, int most, int *got);

/* Empties the allocator's pool, which hands back blocks of the very same size only. Fails. */
void release_memory(scope *s);

#endif
