/* Fork while a bundle is open: the child must not wait for a thread that it does not have. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kokoro.h"

int main(int count, char **words) {
  kokoro *bundle, *again;
  kokoro_speech *speech, *other;
  kokoro_error error = {0, ""};
  kokoro_request request = {"abc.", NULL, 0, "af_heart", NULL, 1.0};
  int status = 0;
  (void)count;
  if (kokoro_open(words[1], NULL, 2, &bundle, &error) || kokoro_predict(bundle, &request, &speech, &error))
    return puts(error.text), 1;
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int predicted = kokoro_predict(bundle, &request, &other, &error);
    puts(error.text);
    int decoded = kokoro_decode(bundle, speech, 0, NULL, 0, &error);
    kokoro_close(bundle);
    int opened = kokoro_open(words[1], NULL, 2, &again, &error) || kokoro_predict(again, &request, &other, &error) ||
                 kokoro_decode(again, other, 0, NULL, 0, &error);
    fflush(stdout);
    _exit(predicted == KOKORO_SYSTEM && decoded == KOKORO_SYSTEM && opened == 0 ? 0 : 1);
  }
  waitpid(child, &status, 0);
  if (status || kokoro_decode(bundle, speech, 0, NULL, 0, &error)) return puts(error.text), 1;
  kokoro_free(speech);
  kokoro_close(bundle);
  return 0;
}
