/* Written forms of a language: how they are found and spoken (runtime/text/frontend/normalization/language.py,
 * spellout.py). */
#ifndef KOKORO_LANGUAGE_H
#define KOKORO_LANGUAGE_H

#include "file.h"
#include "source.h"

/* A word of a list: its words, or words by plural form, and its gender. */
typedef struct item {
  string word, text; /* text: if `is_text` */
  int is_text;
  string one, other, minor_one, minor_other, gender;
} item;

typedef struct items { /* a list in order of its words */
  string name;
  item *all;
  size_t count;
} items;

/* A name or a character and its value. */
typedef struct pair {
  string key, value;
} pair;
typedef struct pairs {
  pair *all;
  size_t count;
} pairs;

/* A Bloom-like set of characters: those above 127 share bits, so it may contain too many, never too few. */
typedef struct charset {
  uint64_t bits[4];
} charset;
void add_char(charset *to, int32_t c);

typedef struct rule {
  string say, first;
  const char *kind, *begins;
  enum { AT_WORD, LOOSE, INSIDE } where;
  pattern pattern, after, not_after; /* code: NULL if there is none */
  int doubted; /* whether the language has doubts about forms of this kind */
  const charset *needs; /* a text with the form has a character of each */
  size_t need_count;
  const string *groups; /* names from number 1 on */
  size_t group_count;
  pairs types; /* group -> type */
} rule;

/* Context that speaks against a kind of form. */
typedef struct doubt {
  const char *kind;
  int cost;
  pattern after, before, near, unless; /* code: NULL if there is none */
  const string *next;          /* parts of speech of the next word */
  const char *const *alone;    /* kinds of forms that stand nowhere else */
  size_t next_count, alone_count;
} doubt;

typedef struct spelling { /* of numbers from `least` on */
  string least, divisor, text; /* digits */
} spelling;
typedef struct spellings {
  string name;
  spelling *all;
  size_t count;
} spellings;

enum { POINTED = 128, BEGINNINGS, NO_RULE = 0xFFFF }; /* POINTED: a point before a digit */

typedef struct language {
  items *lists;
  rule *rules;
  doubt *doubts;
  spellings *sets;
  size_t list_count, rule_count, doubt_count, set_count;
  pairs says, signs, replacements, names; /* says: type -> verb; names: verb -> set */
  pattern letters, singular;
  string joint, point, figures[10];
  int32_t decimal; /* the decimal separator */
  int decimals_by_figure;
  const uint16_t *beginning[BEGINNINGS]; /* numbers of the rules that may begin with an ASCII character, then NO_RULE */
} language;

/* Open `text.NAME` with its compiled expressions, or return NULL. code: the letter of LANGUAGES. Memory is from
 * `s->kept`. Fails with FAILURE_BUNDLE. */
const language *open_language(scope *s, const tensors *file, const char *name, char code);

pairs read_pairs(work *w, const json *object);          /* texts by name */
const string *value_of(const pairs *all, string key); /* or NULL */
const items *find_list(const language *l, string name);
const item *find_item(const items *list, string word);

/* Return l for a letter, d for a digit, s for a sign. */
char kind_of(int32_t c);
/* Return whether a rule may begin with a character of a kind. pointed: a point before a digit. */
int may_begin_with(const rule *r, int32_t c, char kind, int pointed);
/* Match a rule at a place of a text; `found` gets its groups. */
int match_rule(work *w, const rule *r, string text, size_t place, match *result);
/* Return whether the characters before a place end with a pattern. */
int stands_before(work *w, const pattern *p, string text, size_t place);

/* Return a number in words, with the verb `name` of the language; digit by digit if it has no words for it. */
string in_words(work *w, const language *l, string figures, const char *name, string gender);
string in_figures(work *w, const language *l, string figures);
string in_number(work *w, const language *l, string plain, string gender);
/* Return a number's digits with a point before its decimals. */
string plain_number(work *w, const language *l, string written);
int counts_one(work *w, const language *l, string number);
int has_verb(const language *l, const char *name);

/* spellout.c: spell a whole number by a set of rules; return 0 if the set has no rule for it. */
int spell_out(work *w, const language *l, string number, string set, string *words);

#endif
