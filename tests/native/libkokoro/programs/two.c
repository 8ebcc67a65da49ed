/* Open two bundles in one process whose libraries have equal names: each speaks as it does alone.
 *
 * two BUNDLE ANOTHER */
#include "kokoro.h"

#include <stdio.h>
#include <string.h>

#include "os/os.h"

int main(int count, char **words) {
  kokoro *bundles[2];
  kokoro_speech *first[2], *again[2];
  kokoro_error error;
  kokoro_request expected = {"abc.", NULL, 0, "af_heart", NULL, 1.0};
  words = os_arguments(&count, words);
  if (count != 3) return 2;
  for (int i = 0; i < 2; ++i) {
    if (kokoro_open(words[1 + i], NULL, 1, &bundles[i], &error) ||
        kokoro_predict(bundles[i], &expected, &first[i], &error) ||
        kokoro_decode(bundles[i], first[i], 3, NULL, 0, &error))
      return fprintf(stderr, "%s\n", error.text), 1;
  }
  for (int i = 0; i < 2; ++i) {
    if (kokoro_predict(bundles[i], &expected, &again[i], &error) ||
        kokoro_decode(bundles[i], again[i], 3, NULL, 0, &error))
      return fprintf(stderr, "%s\n", error.text), 1;
    if (first[i]->samples != again[i]->samples ||
        memcmp(first[i]->audio, again[i]->audio, first[i]->samples * sizeof *first[i]->audio))
      return fprintf(stderr, "bundle %d sounds another way beside the other\n", i), 1;
  }
  int same = first[0]->samples == first[1]->samples &&
             memcmp(first[0]->audio, first[1]->audio, first[0]->samples * sizeof *first[0]->audio) == 0;
  for (int i = 0; i < 2; ++i) kokoro_free(first[i]), kokoro_free(again[i]), kokoro_close(bundles[i]);
  return puts(same ? "equal" : "different"), 0;
}
