/* How written forms of a language are found and said (runtime/text/frontend/normalization/language.py, spellout.py). */
#ifndef KOKORO_LANGUAGE_H
#define KOKORO_LANGUAGE_H

#include "file.h"
#include "source.h"

/* What a word of a list stands for: words, or words by plural form, and its gender. */
typedef struct item {
  string word, text; /* text: of `is_text` */
  int is_text;
  string one, other, minor_one, minor_other, gender;
} item;

typedef struct items { /* of a list, in the order of their words */
  string name;
  item *all;
  size_t count;
} items;

/* A name or a character, and what it stands for, in order. */
typedef struct pair {
  string key, value;
} pair;
typedef struct pairs {
  pair *all;
  size_t count;
} pairs;

/* Characters, those above 127 by their last bits: what is not in it is not there. */
typedef struct charset {
  uint64_t bits[4];
} charset;
void add_char(charset *to, int32_t c);

typedef struct rule {
  string say, first;
  const char *kind, *begins;
  enum { AT_WORD, LOOSE, INSIDE } where;
  pattern pattern, after, not_after; /* code: NULL where there is none */
  const charset *needs; /* a text that has the form has one character of each */
  size_t need_count;
  const string *groups; /* names, from number 1 on */
  size_t group_count;
  pairs types; /* group -> type */
} rule;

typedef struct spelling { /* of numbers from the least on */
  string least, divisor, text; /* figures */
} spelling;
typedef struct spellings {
  string name;
  spelling *all;
  size_t count;
} spellings;

enum { POINTED = 128, BEGINNINGS, NO_RULE = 0xFFFF }; /* POINTED: a point with a figure behind it */

typedef struct language {
  items *lists;
  rule *rules;
  spellings *sets;
  size_t list_count, rule_count, set_count;
  pairs says, signs, replacements, names; /* says: type -> verb; names: verb -> set */
  pattern letters, singular;
  string joint, point, figures[10];
  int32_t decimal; /* the decimal separator */
  int decimals_by_figure;
  const uint16_t *beginning[BEGINNINGS]; /* numbers of the rules of what may begin with an ASCII character, then NO_RULE */
} language;

/* From `text.NAME` and what is compiled of it; code: the letter of LANGUAGES. NULL where the file has none of it; what is
 * made goes into `s->kept`. Fails with FAILURE_BUNDLE. */
const language *open_language(scope *s, const tensors *file, const char *name, char code);

pairs read_pairs(work *w, const json *object);          /* its texts */
const string *value_of(const pairs *all, string key); /* NULL: it has none */
const items *find_list(const language *l, string name);
const item *find_item(const items *list, string word);

/* l letter, d figure, s sign. */
char kind_of(int32_t c);
/* Whether a rule is of what may begin with a character of a kind; pointed: with a point and a figure behind it. */
int may_begin_with(const rule *r, int32_t c, char kind, int pointed);
/* The form of a rule at a place of a text; `found` gets its groups. */
int match_rule(work *w, const rule *r, string text, size_t place, match *found);

/* A whole number, or one with a point, in words, as `name` of the language has it; figure by figure where it has no words
 * for one so large. */
string in_words(work *w, const language *l, string figures, const char *name, string gender);
string in_figures(work *w, const language *l, string figures);
string in_number(work *w, const language *l, string plain, string gender);
/* A number's figures, with a point before its decimals. */
string plain_number(work *w, const language *l, string written);
int counts_one(work *w, const language *l, string number);
int has_verb(const language *l, const char *name);

/* spellout.c: words of a whole number by a set of rules; 0 where it has none. */
int spell_out(work *w, const language *l, string number, string set, string *words);

#endif
