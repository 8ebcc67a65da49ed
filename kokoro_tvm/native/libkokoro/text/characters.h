/* Text as in Python: arrays of code points. Memory of a call of the front end lives until the call ends.
 *
 * Characters (unicode.c) and regular expressions (pattern.c) behave as Python's, by tables that `generated.py` writes
 * before the compiler runs. Expressions of the Python sources are PATTERNS[MODULE_NAME]; those of the bundle's data
 * were compiled by the same Python when the bundle was built. */
#ifndef KOKORO_CHARACTERS_H
#define KOKORO_CHARACTERS_H

#include "base/base.h"

/* Allocator of a call or a part of it. Nothing in it is freed alone. */
typedef struct work {
  scope *s;
  arena *memory;
  char *next, *end; /* free part of the current block */
  void *choices;    /* pattern.c: stack for backtracking */
  size_t choices_room;
  uint64_t steps; /* of expressions so far */
} work;

#define WORK(scope, arena) ((work){.s = (scope), .memory = (arena)})

/* Return count * size zeroed bytes. Fails. */
void *room(work *w, size_t count, size_t size);

/* A slice of an immutable text. */
typedef struct string {
  const int32_t *at;
  size_t size;
} string;

/* No text, which differs from the empty text. */
#define NONE ((string){NULL, 0})
#define IS_NONE(text) (!(text).at)
/* Return the text, with NONE replaced by the empty text. */
string some(string text);

/* A growing list: LIST(string) words = {0}; PUSH(w, words, word); words.all[0], words.count. */
#define LIST(type) struct { type *all; size_t count, room; }
#define PUSH(w, list, ...) \
  ((list).all = grow_list((w), (list).all, (list).count, &(list).room, sizeof *(list).all), (list).all[(list).count++] = __VA_ARGS__)
/* Return the list with room for one more item. Fails. */
void *grow_list(work *w, void *all, size_t count, size_t *room, size_t size);

/* A text under construction. BUILT(text) is its content until more is put. */
typedef LIST(int32_t) builder;
#define BUILT(text) ((string){(text).all, (text).count})
void put(work *w, builder *text, string more);
void put_char(work *w, builder *text, int32_t c);
void put_ascii(work *w, builder *text, const char *more);

/* Return text[start:end] with Python's bounds. */
string slice(string text, size_t start, size_t end);
string join(work *w, string a, string b);
/* Decode valid UTF-8. */
string decode_utf8(work *w, const char *utf8);
/* Encode to UTF-8 with a NUL at the end; a surrogate takes three bytes. */
char *encode_utf8(work *w, string text);

int is_same(string a, string b);
int is_ascii_text(string text, const char *ascii); /* whether the text equals an ASCII constant */
int compare(string a, string b);                  /* < 0, 0, > 0: order of code points, as in Python */
int starts_with(string text, string begin);
int contains(string text, int32_t c);
int is_one_of(int32_t c, const char *utf8); /* the characters of a constant */
string strip_spaces(string text); /* without whitespace at both ends */
string strip_spaces_right(string text);

/* ---- unicode.c: characters as in Python's str and unicodedata ---- */

int is_alpha(int32_t c);
int is_alnum(int32_t c);
int is_decimal(int32_t c);
int is_digit(int32_t c);
int is_upper(int32_t c);
int is_lower(int32_t c);
int is_printable(int32_t c);
/* is_space is in base.h */
int decimal_of(int32_t c); /* unicodedata.decimal, -1 for none */
int digit_of(int32_t c);   /* unicodedata.digit, -1 for none */
/* unicodedata.category as a number: CATEGORY('L', 'u'). */
#define CATEGORY(group, kind) ((group) << 8 | (kind))
int category(int32_t c);

int all_alpha(string text); /* as str.isalpha and so on: false for the empty text */
int all_alnum(string text);
int all_decimal(string text);
int all_ascii(string text); /* true for the empty text */
int any_alnum(string text);
int text_is_upper(string text); /* str.isupper */
int text_is_lower(string text);

string lower(work *w, string text);
string upper(work *w, string text);
string capitalize(work *w, string text);
string nfc(work *w, string text);
string nfkc(work *w, string text);
string nfkd(work *w, string text);
string nfd(work *w, string text);

/* ---- pattern.c: regular expressions as in Python's re ---- */

enum { MOST_GROUPS = 32 };

/* A compiled expression, see patterns.py. */
typedef struct pattern {
  const int32_t *code;
  const int32_t *sets; /* classes of characters that the code refers to */
} pattern;

typedef struct match {
  size_t start, end;
  struct { size_t start, end; } groups[MOST_GROUPS]; /* (size_t)-1: no part of the match. groups[0]: the whole match */
} match;

/* `Pattern.match(text, place)`. For a slice, lookbehind sees the slice alone. Fail after too many steps. */
int match_at(work *w, const pattern *p, string text, size_t place, match *result);
int search(work *w, const pattern *p, string text, size_t place, match *result);
/* Like `search` for a match that begins no later than `last`. */
int search_until(work *w, const pattern *p, string text, size_t place, size_t last, match *result);
int full_match(work *w, const pattern *p, string text, match *result);
/* Next match of finditer after `found`; FIRST_MATCH for the first call. */
int next_match(work *w, const pattern *p, string text, match *result);
#define FIRST_MATCH ((match){.groups = {{(size_t)-1, (size_t)-1}}})
/* Return a group's text, empty if it took no part. */
string group_of(string text, const match *result, int number);
int has_group(const match *result, int number);

#endif
