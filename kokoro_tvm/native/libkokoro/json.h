/* JSON (RFC 8259), and objects of it read key by key: a failure names the place. */
#ifndef KOKORO_JSON_H
#define KOKORO_JSON_H

#include "base.h"

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

/* The value of a key, of a kind. Fails with KOKORO_BUNDLE. */
const json *get(scope *s, const json *object, const char *key, kind wanted);
/* The same, or NULL where it is missing or null. */
const json *find(scope *s, const json *object, const char *key, kind wanted);
/* A whole number from 1 to 2^20. */
int64_t get_positive(scope *s, const json *object, const char *key);
const char *get_text(scope *s, const json *object, const char *key);

/* What to do about a manifest that is no good. */
#define MEND "Build the bundle again, or copy it again from where it was built."

#endif
