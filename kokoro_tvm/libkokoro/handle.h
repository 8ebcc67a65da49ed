/* An open bundle and an utterance of it, as the library sees them. */
#ifndef KOKORO_HANDLE_H
#define KOKORO_HANDLE_H

#include "tvm.h"

#include <pthread.h>

/* The one thread that calls compiled code: TVM keeps a pool of threads for each thread that calls it. */
typedef struct worker {
  struct worker *next; /* of those without a bundle */
  pthread_t thread;
  pthread_mutex_t turn; /* held by who has a job done */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  void (*job)(void *); /* NULL: nothing to do */
  void *argument;
  int stops;
} worker;

struct kokoro {
  arena kept;
  worker *worker;
  long process; /* that opened it */
  int threads;
  manifest *bundle;
  const char *notice;
  void **functions[ENTRIES];     /* one for each bucket */
  void **parameters[COMPONENTS]; /* TVM's tensors, shared by all buckets */
  int64_t reserved[COMPONENTS];  /* steps of length that the last call reserved memory for */
  tensors voices;                /* in alphabetical order */
  double least_norm, most_norm;  /* of rows of the bundle's own; 0 until a voice is added */
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
  int64_t channels;
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
/* model.c: loads the components; runs them. Fail. */
void load_components(scope *s, kokoro *k);
void predict(scope *s, kokoro *k, utterance *u);
void decode(scope *s, kokoro *k, utterance *u, uint64_t seed, const float *noise, size_t count);
/* words.c: samples of words whose durations are known. */
void time_words(const kokoro *k, utterance *u);

#endif
