/* Functions of dyld.c besides those of a dynamic linker. */
#ifndef KOKORO_DYLD_H
#define KOKORO_DYLD_H

/* Return a loaded library of Linux for dlsym, or NULL. */
void *dyld_loaded(const char *name);
/* Run a program of macOS; return its exit status, or 127 if it cannot be loaded. */
int dyld_run(const char *path, int count, char **words);

#endif
