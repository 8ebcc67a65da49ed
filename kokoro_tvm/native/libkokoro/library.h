/* Shared by the functions of kokoro.h: library.c has those for bundles and utterances, say.c those for texts. */
#ifndef KOKORO_LIBRARY_H
#define KOKORO_LIBRARY_H

#include "model/model.h"

/* Run a job on the computing thread. Return its code, and write the failure to `error`. */
int do_job(kokoro *k, void (*body)(scope *s, void *argument), void *argument, arena *kept, kokoro_error *error);

/* Return KOKORO_SYSTEM and write to `error` that there is no memory. */
int no_memory(kokoro_error *error);

/* Return a notice about a speed outside the model's range, or NULL. Fails for an invalid speed. */
const char *check_speed(scope *s, double speed);

#endif
