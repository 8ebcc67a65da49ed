/* What the functions of kokoro.h share: library.c has those of bundles and utterances, say.c those of texts. */
#ifndef KOKORO_LIBRARY_H
#define KOKORO_LIBRARY_H

#include "model/model.h"

/* Lets the computing thread do a job. What it fails with is the result, and goes into `error`. */
int do_job(kokoro *k, void (*body)(scope *s, void *argument), void *argument, arena *kept, kokoro_error *error);

/* What a function of the library returns where there is no memory. */
int no_memory(kokoro_error *error);

/* What a speed beyond what the model can say is worth a notice; NULL for none. Fails for what is no speed. */
const char *check_speed(scope *s, double speed);

#endif
