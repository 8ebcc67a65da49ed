/* Print rows of voices and mixes without the TVM runtime: styles BUNDLE SYMBOLS < VOICES
 *
 * Every voice ends with a NUL, and so does its output: "0 " and the row's float32 numbers as hexadecimal bits, or the
 * code and text of the failure. */
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kokoro bundle;

static void attempt(void (*body)(scope *, const char *, void *), const char *text, void *argument) {
  char message[2048] = "";
  scope *s = calloc(1, sizeof *s);
  s->message = message;
  s->message_size = sizeof message;
  s->kept = &bundle.kept;
  if (setjmp(s->failed) == 0) body(s, text, argument);
  if (s->code) printf("%d %s%c", s->code, message, 0);
  release(&s->scratch);
  free(s);
}

static void open_body(scope *s, const char *folder, void *unused) {
  (void)unused;
  bundle.bundle = read_bundle(s, folder, NULL);
  open_files(s, bundle.bundle);
  open_voices(s, &bundle);
}

static void print_style(scope *s, const char *voice, void *symbols) {
  utterance u = {0};
  size_t width = (size_t)(2 * bundle.bundle->style_dim);
  u.style = take(s, &s->scratch, width, sizeof *u.style);
  read_style(s, &bundle, &u, voice, *(int64_t *)symbols);
  printf("0 ");
  for (size_t i = 0; i < width; ++i) {
    uint32_t bits;
    memcpy(&bits, u.style + i, sizeof bits);
    printf("%08x", (unsigned)bits);
  }
  putchar(0);
}

int main(int count, char **words) {
  static char voice[1 << 18];
  size_t size = 0;
  if (count != 3) return 2;
  int64_t symbols = strtoll(words[2], NULL, 10);
  attempt(open_body, words[1], NULL);
  for (int c; bundle.voices.count && (c = getchar()) != EOF;) {
    voice[size++] = (char)c;
    if (size == sizeof voice) return 3;
    if (c) continue;
    attempt(print_style, voice, &symbols);
    size = 0;
  }
  release(&bundle.kept);
  return bundle.voices.count ? 0 : 1;
}
