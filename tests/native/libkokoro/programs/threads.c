/* Use a bundle from several threads, while others open and close it: results equal those of one thread.
 *
 * threads BUNDLE ROUNDS */
#include "kokoro.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4 };
static const char *const PHONEMES[THREADS] = {"abc.", "a, b: c d", "ɹəɹə!", "ba"};
static float noise[1 << 20];
static kokoro *shared;
static const char *folder;
static int rounds;
static kokoro_speech *alone[THREADS];

static kokoro_speech *spoken(kokoro *bundle, int which) {
  kokoro_request expected = {PHONEMES[which], NULL, 0, which % 2 ? "am_adam" : "af_heart", NULL, 0.7 + 0.3 * which};
  kokoro_speech *speech;
  kokoro_error error;
  if (kokoro_predict(bundle, &expected, &speech, &error) ||
      kokoro_decode(bundle, speech, 7, which % 2 ? noise : NULL, speech->samples, &error)) {
    fprintf(stderr, "%s\n", error.text);
    exit(8);
  }
  return speech;
}

static void *speak(void *argument) {
  int which = *(int *)argument;
  for (int i = 0; i < rounds; ++i) {
    kokoro *own = NULL;
    kokoro_error error;
    if (i % 4 == which && kokoro_open(folder, NULL, 1 + which % 2, &own, &error)) {
      fprintf(stderr, "%s\n", error.text);
      exit(7);
    }
    kokoro_speech *speech = spoken(own ? own : shared, which);
    kokoro_close(own);
    if (speech->samples != alone[which]->samples ||
        memcmp(speech->audio, alone[which]->audio, speech->samples * sizeof *speech->audio)) {
      fprintf(stderr, "%s sounds another way beside other threads\n", PHONEMES[which]);
      exit(6);
    }
    kokoro_free(speech);
  }
  return NULL;
}

int main(int count, char **words) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  kokoro_error error;
  if (count != 3) return 2;
  folder = words[1];
  rounds = atoi(words[2]);
  for (size_t i = 0; i < sizeof noise / sizeof *noise; ++i) noise[i] = (float)((int)(i * 7919 % 2001) - 1000) / 500;
  if (kokoro_open(folder, NULL, 2, &shared, &error)) return fprintf(stderr, "%s\n", error.text), 1;
  for (int i = 0; i < THREADS; ++i) alone[i] = spoken(shared, i);
  for (int i = 0; i < THREADS; ++i) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, speak, &numbers[i])) return 1;
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) kokoro_free(alone[i]);
  kokoro_close(shared);
  puts("equal");
  return 0;
}
