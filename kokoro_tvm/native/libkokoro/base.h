/* What the files of libkokoro share: memory and other resources, failures, small files, and UTF-8. */
#ifndef KOKORO_BASE_H
#define KOKORO_BASE_H

#include <setjmp.h>

#include "kokoro.h"

/* Resources that are released together, the last first: memory is taken from it, other things are given to it. */
typedef struct arena {
  struct block *blocks;
} arena;

/* One call of the library. A failure leaves it by longjmp: the caller of setjmp releases what is not kept. */
typedef struct scope {
  jmp_buf failed;
  kokoro_error *error;
  int code;
  arena *kept;    /* what outlives the call, if it succeeds */
  arena scratch;  /* what does not */
} scope;

#ifdef __GNUC__
#define PRINTF(pattern, first) __attribute__((__format__(__gnu_printf__, pattern, first)))
#define NORETURN __attribute__((noreturn))
#endif

/* Leaves the call with a code of kokoro.h and a message, which is cut where it is too long. */
NORETURN void fail(scope *s, int code, const char *format, ...) PRINTF(3, 4);
NORETURN void fail_memory(scope *s);

/* count * size zeroed bytes on a 64-byte boundary, which compiled kernels may assume. Fails. */
void *take(scope *s, arena *from, size_t count, size_t size);
/* Lets an arena call `release(resource)` when it is released, now where there is no memory for that. Fails. */
void give(scope *s, arena *to, void (*release)(void *), void *resource);
/* Formatted text. Fails. */
char *format(scope *s, arena *from, const char *pattern, ...) PRINTF(3, 4);
/* The first 40 characters of UTF-8, which is right, and "…" if there are more. Fails. */
const char *shorten(scope *s, const char *text, size_t size);
void release(arena *all);

/* All bytes of a small file on a path, with a NUL behind them, in scratch memory; NULL where it cannot be read. */
char *read_path(scope *s, const char *path, size_t *size);

/* The code point at `*text`, which moves behind it; 0 at the end, -1 where it is no UTF-8. */
int32_t next_symbol(const char **text);
/* As str.isspace of Python has it. */
int is_space(int32_t c);

#endif
