/* Speak a text whose bytes come one to five at a time, and compare the audio with that of the whole text: portions BUNDLE
 * TEXT VOICE. */
#include "kokoro.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kokoro_error error;

static void check(int code) {
  if (code) fprintf(stderr, "%d: %s\n", code, error.text), exit(1);
}

/* Give the next bytes of a text to a plan, and NULL at its end. */
static void give(kokoro_plan *plan, const char **text, size_t size) {
  char portion[6] = "";
  if (!**text) {
    check(kokoro_add_text(plan, NULL, &error));
    return;
  }
  strncpy(portion, *text, size);
  *text += strlen(portion);
  check(kokoro_add_text(plan, portion, &error));
}

int main(int count, char **words) {
  kokoro *bundle;
  kokoro_speech *whole, *piece;
  if (count != 4) return 2;
  kokoro_text request = {words[2], words[3], 1, KOKORO_MARKUP, 0};
  check(kokoro_open(words[1], NULL, 1, &bundle, &error));
  check(kokoro_say_text(bundle, &request, 7, &whole, &error));
  request.text = NULL;
  for (size_t size = 1; size <= 5; ++size) {
    const char *text = words[2];
    size_t samples = 0;
    kokoro_plan *plan;
    check(kokoro_plan_text(bundle, &request, &plan, &error));
    for (;;) {
      int code = kokoro_next_piece(plan, &piece, &error);
      if (code == KOKORO_NEEDS_TEXT) {
        give(plan, &text, size);
        continue;
      }
      check(code);
      if (!piece) break;
      check(kokoro_decode(bundle, piece, 7, NULL, 0, &error));
      if (samples + piece->samples > whole->samples || memcmp(whole->audio + samples, piece->audio, piece->samples * sizeof(float)))
        return printf("portions of %zu bytes differ\n", size), 1;
      samples += piece->samples;
      kokoro_free(piece);
    }
    if (samples != whole->samples) return printf("portions of %zu bytes are shorter\n", size), 1;
    kokoro_free_plan(plan);
  }
  kokoro_free(whole);
  kokoro_close(bundle);
  puts("equal");
  return 0;
}
