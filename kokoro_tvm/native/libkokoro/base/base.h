/* Foundation of libkokoro's folders: memory and other resources, failures, UTF-8, JSON, SHA-256 and tensors.
 *
 * "Fails" in a comment means that the function leaves the call by `fail` instead of returning. */
#ifndef KOKORO_BASE_H
#define KOKORO_BASE_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

/* Resources that are released together in reverse order: memory comes from `take`, other resources go in by `give`. */
typedef struct arena {
  struct block *blocks;
} arena;

/* One call of the library. A failure leaves it by longjmp. The caller of setjmp then releases `scratch`. */
typedef struct scope {
  jmp_buf failed;
  char *message; /* buffer for the text of a failure; NULL: none */
  size_t message_size;
  const char *where; /* the text of a failure begins with it; NULL: nothing */
  int code; /* FAILURE_..., 0 without a failure */
  arena *kept;    /* resources that outlive a successful call */
  arena scratch;  /* resources of the call alone */
} scope;

#ifdef __GNUC__
#define PRINTF(pattern, first) __attribute__((__format__(__gnu_printf__, pattern, first)))
#define NORETURN __attribute__((noreturn))
#endif

/* Codes of failures. kokoro.h has equal ones for callers (library.c compares them). */
enum { FAILURE_SYSTEM = 1, FAILURE_INPUT = 2, FAILURE_BUNDLE = 5, FAILURE_TOO_LONG = 6 };

/* Leave the call with a FAILURE_... code and a message, which is cut if it is too long. */
NORETURN void fail(scope *s, int code, const char *format, ...) PRINTF(3, 4);
NORETURN void fail_memory(scope *s);

/* Return count * size zeroed bytes on a 64-byte boundary, which compiled kernels may assume. Fails. */
void *take(scope *s, arena *from, size_t count, size_t size);
/* Let an arena call `release(resource)` when it is released. Without memory for that, call it now and fail. */
void give(scope *s, arena *to, void (*release)(void *), void *resource);
/* Return formatted text. Fails. */
char *format(scope *s, arena *from, const char *pattern, ...) PRINTF(3, 4);
/* Return the first 40 characters of valid UTF-8, with "…" if there are more. Fails. */
const char *shorten(scope *s, const char *text, size_t size);
void release(arena *all);

/* Return the code point at `*text` and advance; 0 at the end, -1 for invalid UTF-8. */
int32_t next_symbol(const char **text);
/* As Python's str.isspace. */
int is_space(int32_t c);

/* ---- json.c: JSON (RFC 8259). Objects are read key by key, and failures name the place. ---- */

typedef enum kind { NOTHING, BOOLEAN, WHOLE, NUMBER, TEXT, LIST, OBJECT } kind;

typedef struct json {
  kind kind;
  const char *key;    /* in an object; the file name for the outermost value */
  const struct json *parent;
  int64_t index;      /* in its parent */
  const char *text;   /* of TEXT, without NUL */
  int64_t whole;      /* of WHOLE; 1 or 0 of BOOLEAN */
  double number;      /* of NUMBER */
  struct json *first, *next; /* first item, and next item of the parent */
  int64_t count;      /* number of items */
} json;

/* Parse UTF-8 into scratch memory. For invalid JSON, return NULL and write place and reason to `why`. Depth and number
 * of values are bounded, whole numbers have 64 bits, and no string contains NUL. */
json *parse(scope *s, const char *text, size_t size, const char *file, char why[120]);

/* Return the place of a value, such as `bundle.json: components: bert`. */
const char *place_of(scope *s, const json *value);

/* Return the value of a key, which has to have a kind. Fails with FAILURE_BUNDLE. */
const json *get(scope *s, const json *object, const char *key, kind expected);
/* Like `get`, but return NULL if the key is missing or null. */
const json *find(scope *s, const json *object, const char *key, kind expected);
/* Return the value of a key, which may be of any kind, or NULL. */
const json *find_value(const json *object, const char *key);
/* Return a whole number from 1 to 2^20. Fails with FAILURE_BUNDLE. */
int64_t get_positive(scope *s, const json *object, const char *key);
const char *get_text(scope *s, const json *object, const char *key);

/* Advice in messages about an invalid manifest. */
#define MEND "Build the bundle again, or copy it again from where it was built."

/* ---- sha256.c: SHA-256 (FIPS 180-4), by the CPU's instructions for it where there are some ---- */

typedef struct sha256 {
  uint32_t state[8];
  uint64_t size; /* bytes so far */
  unsigned char block[64];
  int fast; /* whether the CPU has instructions for it */
} sha256;

void sha256_begin(sha256 *hash);
void sha256_add(sha256 *hash, const void *data, size_t size);
/* Write 64 hexadecimal digits and a NUL. */
void sha256_end(sha256 *hash, char digest[65]);

/* ---- tensors.c: safetensors files ---- */

enum { EXTENTS = 8 };

typedef struct file {
  const char *path; /* NULL: the bundle has no such file */
  int64_t size;
  const char *sha256;
  int descriptor; /* valid while the bundle is being opened */
} file;

/* A dtype: names in numpy and safetensors, DLPack's code, width in bytes. */
typedef struct dtype {
  const char *name, *stored;
  int code, width;
} dtype;

/* Return the dtype of either name, or NULL. */
const dtype *find_dtype(const char *name);

/* A tensor of a safetensors file. */
typedef struct tensor {
  const char *name;
  const dtype *type;
  void *data; /* in the mapped file, read-only */
  int64_t extents, elements, size; /* size: bytes */
  int64_t shape[EXTENTS];
} tensor;

typedef struct tensors {
  tensor *all;
  int64_t count;
} tensors;

/* Read the tensors of a file whose content is in memory and stays there. Fails. */
tensors read_tensors(scope *s, const file *file, void *content);

#endif
