/* What dyld.c has besides the dynamic linker's own functions. */
#ifndef KOKORO_DYLD_H
#define KOKORO_DYLD_H

/* A library of Linux that this process has already, for dlsym; NULL: it has none of that name. */
void *dyld_loaded(const char *name);
/* Runs a program of macOS; its exit status, 127 where it cannot be loaded. */
int dyld_run(const char *path, int count, char **words);

#endif
