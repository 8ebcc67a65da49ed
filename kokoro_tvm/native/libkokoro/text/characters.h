/* Text as Python has it: arrays of code points. What one call of the front end makes lives until the call ends.
 *
 * Characters (unicode.c) and regular expressions (pattern.c) behave as Python's, by tables that the build takes from
 * Python: unicode_tables.h and pattern_tables.h, which `generated.py` writes before the compiler runs. An expression
 * that stands in the Python sources is named there, and is PATTERNS[PATTERN_...] here; those of the bundle's data are
 * compiled by the same Python when the bundle is built. */
#ifndef KOKORO_CHARACTERS_H
#define KOKORO_CHARACTERS_H

#include "base/base.h"

/* The memory of a call, or of a part of it: pieces of blocks of an arena, none of which is freed alone. */
typedef struct work {
  scope *s;
  arena *memory;
  char *next, *end; /* of the block in use */
  void *choices;    /* pattern.c: what an expression may take back */
  size_t choices_room;
  uint64_t steps; /* that expressions took */
} work;

#define WORK(scope, arena) ((work){.s = (scope), .memory = (arena)})

/* count * size zeroed bytes. Fails where there is no memory. */
void *room(work *w, size_t count, size_t size);

/* A slice of a text, which is never changed. */
typedef struct string {
  const int32_t *at;
  size_t size;
} string;

/* No text, which is not the empty one. */
#define NONE ((string){NULL, 0})
#define IS_NONE(text) (!(text).at)
/* A text that is not none. */
string some(string text);

/* A list that grows: LIST(string) words = {0}; PUSH(w, words, word); words.all[0], words.count. */
#define LIST(type) struct { type *all; size_t count, room; }
#define PUSH(w, list, ...) \
  ((list).all = grown((w), (list).all, (list).count, &(list).room, sizeof *(list).all), (list).all[(list).count++] = __VA_ARGS__)
/* The list with room for one more. Fails. */
void *grown(work *w, void *all, size_t count, size_t *room, size_t size);

/* A text that is being put together; BUILT(text) is what it is so far, until more is put. */
typedef LIST(int32_t) builder;
#define BUILT(text) ((string){(text).all, (text).count})
void put(work *w, builder *text, string more);
void put_char(work *w, builder *text, int32_t c);
void put_ascii(work *w, builder *text, const char *more);

/* From `start` to before `end`, which are brought into the text as Python's slices are. */
string slice(string text, size_t start, size_t end);
string joined(work *w, string a, string b);
/* Of UTF-8 that is known to be right: a constant, or checked before. */
string decoded(work *w, const char *utf8);
/* UTF-8 with a NUL behind it; a surrogate is written as three bytes. */
char *encoded(work *w, string text);

int same(string a, string b);
int is_ascii_text(string text, const char *ascii); /* whether it is that very text */
int compared(string a, string b);                  /* < 0, 0, > 0: by code points, as Python orders */
int starts_with(string text, string begin);
int holds(string text, int32_t c);
int is_one_of(int32_t c, const char *utf8); /* characters of a constant */
string stripped(string text); /* of whitespace at both ends */
string right_stripped(string text);

/* ---- unicode.c: characters as Python's str and unicodedata have them ---- */

int is_alpha(int32_t c);
int is_alnum(int32_t c);
int is_decimal(int32_t c);
int is_digit(int32_t c);
int is_upper(int32_t c);
int is_lower(int32_t c);
int is_printable(int32_t c);
/* is_space: base.h */
int decimal_of(int32_t c); /* unicodedata.decimal, -1 for none */
int digit_of(int32_t c);   /* unicodedata.digit, -1 for none */
/* unicodedata.category as a number: CATEGORY('L', 'u'). */
#define CATEGORY(group, kind) ((group) << 8 | (kind))
int category(int32_t c);

int all_alpha(string text); /* str.isalpha and so on: false for the empty text */
int all_alnum(string text);
int all_decimal(string text);
int all_ascii(string text); /* true for the empty text */
int any_alnum(string text);
int text_is_upper(string text); /* str.isupper */
int text_is_lower(string text);

string lower(work *w, string text);
string upper(work *w, string text);
string capitalized(work *w, string text);
string nfc(work *w, string text);
string nfkc(work *w, string text);
string nfkd(work *w, string text);
string nfd(work *w, string text);

/* ---- pattern.c: regular expressions as Python's re has them ---- */

enum { MOST_GROUPS = 32 };

/* A compiled expression; generated.py says how. */
typedef struct pattern {
  const int32_t *code;
  const int32_t *sets; /* that its code refers to */
} pattern;

typedef struct match {
  size_t start, end;
  struct { size_t start, end; } groups[MOST_GROUPS]; /* (size_t)-1: it did not take part. groups[0]: the whole */
} match;

/* Whether the text from `place` on begins with the expression (`Pattern.match(text, place)`); `text` may be a slice, in
 * which lookbehind sees no more than the slice. Fail where it takes more steps than any text should. */
int match_at(work *w, const pattern *p, string text, size_t place, match *found);
int search(work *w, const pattern *p, string text, size_t place, match *found);
/* The same of what begins no later than `last`. */
int search_until(work *w, const pattern *p, string text, size_t place, size_t last, match *found);
int full_match(work *w, const pattern *p, string text, match *found);
/* The next of finditer: behind `found`, which the first call gets with start == end == 0 and `groups[0].start == -1`. */
int next_match(work *w, const pattern *p, string text, match *found);
#define FIRST_MATCH ((match){.groups = {{(size_t)-1, (size_t)-1}}})
/* Characters of a group; empty where it did not take part. */
string group_of(string text, const match *found, int number);
int took_part(const match *found, int number);

#endif
