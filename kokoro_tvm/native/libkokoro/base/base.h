/* What the folders of libkokoro share: memory and other resources, failures, UTF-8, JSON, SHA-256 and tensors. */
#ifndef KOKORO_BASE_H
#define KOKORO_BASE_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

/* Resources that are released together, the last first: memory is taken from it, other things are given to it. */
typedef struct arena {
  struct block *blocks;
} arena;

/* One call of the library. A failure leaves it by longjmp: the caller of setjmp releases what is not kept. */
typedef struct scope {
  jmp_buf failed;
  char *message; /* gets the text of a failure; NULL: nothing does */
  size_t message_size;
  int code; /* FAILURE_..., 0 while nothing failed */
  arena *kept;    /* what outlives the call, if it succeeds */
  arena scratch;  /* what does not */
} scope;

#ifdef __GNUC__
#define PRINTF(pattern, first) __attribute__((__format__(__gnu_printf__, pattern, first)))
#define NORETURN __attribute__((noreturn))
#endif

/* Codes of failures. kokoro.h has the same ones for callers (library.c compares them). */
enum { FAILURE_SYSTEM = 1, FAILURE_INPUT = 2, FAILURE_BUNDLE = 5, FAILURE_TOO_LONG = 6 };

/* Leaves the call with a FAILURE_... code and a message, which is cut where it is too long. */
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

/* The code point at `*text`, which moves behind it; 0 at the end, -1 where it is no UTF-8. */
int32_t next_symbol(const char **text);
/* As str.isspace of Python has it. */
int is_space(int32_t c);

/* ---- json.c: JSON (RFC 8259), and objects of it read key by key: a failure names the place ---- */

typedef enum kind { NOTHING, BOOLEAN, WHOLE, NUMBER, TEXT, LIST, OBJECT } kind;

typedef struct json {
  kind kind;
  const char *key;    /* in an object; of the outermost value: the file */
  const struct json *parent;
  int64_t index;      /* in its parent */
  const char *text;   /* of TEXT, without a NUL in it */
  int64_t whole;      /* of WHOLE; 1 or 0 of BOOLEAN */
  double number;      /* of NUMBER */
  struct json *first, *next; /* items; of the same list or object */
  int64_t count;      /* of items */
} json;

/* Parses UTF-8, into the scratch memory of a call. NULL where it is no JSON: `why` gets the place and the reason (120
 * bytes). Depth and number of values are bounded, whole numbers have 64 bits, and no string holds a NUL. */
json *parse(scope *s, const char *text, size_t size, const char *file, char why[120]);

/* `bundle.json: components: bert`. */
const char *place_of(scope *s, const json *value);

/* The value of a key, of a kind. Fails with FAILURE_BUNDLE. */
const json *get(scope *s, const json *object, const char *key, kind wanted);
/* The same, or NULL where it is missing or null. */
const json *find(scope *s, const json *object, const char *key, kind wanted);
/* A whole number from 1 to 2^20. */
int64_t get_positive(scope *s, const json *object, const char *key);
const char *get_text(scope *s, const json *object, const char *key);

/* What to do about a manifest that is no good. */
#define MEND "Build the bundle again, or copy it again from where it was built."

/* ---- sha256.c: SHA-256 (FIPS 180-4) ---- */

typedef struct sha256 {
  uint32_t state[8];
  uint64_t size; /* bytes so far */
  unsigned char block[64];
} sha256;

void sha256_begin(sha256 *hash);
void sha256_add(sha256 *hash, const void *data, size_t size);
/* Writes 64 hexadecimal digits and a NUL. */
void sha256_end(sha256 *hash, char digest[65]);

/* ---- tensors.c: safetensors files ---- */

enum { EXTENTS = 8 };

typedef struct file {
  const char *path; /* NULL: the bundle has no such file */
  int64_t size;
  const char *sha256;
  int descriptor; /* while the bundle is being opened */
} file;

/* A type of numbers: as numpy, safetensors and DLPack call it, and its bytes. */
typedef struct dtype {
  const char *name, *stored;
  int code, width;
} dtype;

/* By either name; NULL where there is none. */
const dtype *find_dtype(const char *name);

/* A tensor of a safetensors file. */
typedef struct tensor {
  const char *name;
  const dtype *type;
  void *data; /* in the mapped file, to be read only */
  int64_t extents, elements, size; /* size: bytes */
  int64_t shape[EXTENTS];
} tensor;

typedef struct tensors {
  tensor *all;
  int64_t count;
} tensors;

/* The tensors of a file whose content is in memory, and has to stay there. Fails. */
tensors read_tensors(scope *s, const file *file, void *content);

#endif
