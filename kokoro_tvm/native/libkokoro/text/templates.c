/* Words of a written form: a template with the parts of the form in words. */
#include "scanner.h"

#include <string.h>

#include "patterns.h"

enum { DEEPEST = 16 }; /* nested brackets */

static string written_as(const form *f, string group) { /* empty if the group took no part */
  for (size_t i = 0; i < f->r->group_count; ++i)
    if (is_same(f->r->groups[i], group)) return group_of(f->text, f->found, (int)i + 1);
  return NONE;
}

static string type_of(const form *f, string group) {
  const string *result = value_of(&f->r->types, group);
  return result ? *result : NONE;
}

/* Return the verb of the group's type. */
static string verb_of(const form *f, string group) {
  const string *result = value_of(&f->l->says, type_of(f, group));
  return result ? *result : NONE;
}

static const item *item_of(const form *f, string group) {
  const items *list = find_list(f->l, type_of(f, group));
  return list ? find_item(list, written_as(f, group)) : NULL;
}

static string gender_of(const form *f, string group) {
  const item *result = group.size ? item_of(f, group) : NULL;
  return result ? result->gender : NONE;
}

static string number_text(work *w, int64_t value) {
  builder out = {0};
  char figures[24], *end = figures;
  for (; value > 0 || end == figures; value /= 10) *end++ = (char)('0' + value % 10);
  while (end > figures) put_char(w, &out, *--end);
  return BUILT(out);
}

static int roman_value(int32_t letter) {
  static const int values[] = {1, 5, 10, 50, 100, 500, 1000};
  static const char letters[] = "IVXLCDM";
  const char *result = letter > 0 && letter < 128 ? strchr(letters, letter) : NULL;
  return result ? values[result - letters] : 0;
}

static int64_t roman(work *w, string written) {
  int64_t sum = 0, most = 0;
  string large = upper(w, written);
  for (size_t i = large.size; i-- > 0;) {
    int value = roman_value(large.at[i]);
    if (value > most) most = value;
    sum += value < most ? -value : value;
  }
  return sum;
}

/* Return the number of a part as digits with a point. */
static string quantity(const form *f, string group, string verb) {
  string written = written_as(f, group);
  builder out = {0};
  if (!is_ascii_text(verb, "hundredths") && !is_ascii_text(verb, "roman") && !is_ascii_text(verb, "whole") &&
      !is_ascii_text(verb, "raised"))
    verb = verb_of(f, group);
  if (is_ascii_text(verb, "hundredths")) {
    int first = written.size ? decimal_of(written.at[0]) : 0, second = written.size > 1 ? decimal_of(written.at[1]) : 0;
    return number_text(f->w, written.size ? 10 * first + second : 0);
  }
  if (is_ascii_text(verb, "roman")) return number_text(f->w, roman(f->w, written));
  int whole = is_ascii_text(verb, "whole"), raised = is_ascii_text(verb, "raised");
  if (!whole && !raised) return plain_number(f->w, f->l, written);
  for (size_t i = 0; i < written.size; ++i) {
    if (raised) put_char(f->w, &out, '0' + digit_of(written.at[i]));
    else if (is_decimal(written.at[i])) put_char(f->w, &out, written.at[i]);
  }
  return BUILT(out);
}

/* Return the plural form of a counted word. */
static string counted_form(const form *f, const item *of, string verb, string by) {
  if (of->is_text) return of->text;
  int one = is_ascii_text(verb, "one") || (by.size && counts_one(f->w, f->l, quantity(f, by, NONE)));
  if (is_ascii_text(verb, "minor")) return one && of->minor_one.size ? of->minor_one : of->minor_other;
  return one && of->one.size ? of->one : of->other;
}

static void put_joined(const form *f, builder *out, int first, string word) {
  if (!first) put(f->w, out, f->l->joint);
  put(f->w, out, word);
}

/* Read every word, number and sign of a text without spaces, signs by their names. */
static string read_pieces(const form *f, string written, int expression, string list) {
  static const items none = {0};
  const items *names = list.size ? find_list(f->l, list) : &none;
  builder out = {0};
  int first = 1;
  if (!names) fail(f->w->s, FAILURE_BUNDLE, "A rule of the bundle names a list that is not there. Build the bundle again.");
  for (match result = FIRST_MATCH; next_match(f->w, &PATTERNS[expression], written, &result); first = 0) {
    string piece = slice(written, result.start, result.end);
    const item *name = find_item(names, piece);
    if (!name || (name->is_text && !name->text.size)) name = find_item(names, lower(f->w, piece));
    if (name && name->is_text) {
      put_joined(f, &out, first, name->text);
    } else if (all_decimal(piece)) {
      for (size_t i = 0; i < piece.size; ++i, first = 0) {
        string figure = slice(piece, i, i + 1);
        const item *own = find_item(names, figure);
        put_joined(f, &out, first, own && own->is_text ? own->text : in_figures(f->w, f->l, figure));
      }
    } else {
      put_joined(f, &out, first, piece.size == 1 ? upper(f->w, piece) : piece);
    }
  }
  return BUILT(out);
}

/* Read the figures and words of a text, with commas where a sign stands between them. */
static string read_groups(const form *f, string written, string list) {
  builder out = {0};
  for (match result = FIRST_MATCH; next_match(f->w, &PATTERNS[TEMPLATES_GROUP], written, &result);) {
    if (out.count) put_ascii(f->w, &out, ", ");
    put(f->w, &out, read_pieces(f, slice(written, result.start, result.end), TEMPLATES_PIECE, list));
  }
  return BUILT(out);
}

/* Return figures among letters: up to 99 as a number, else one by one. */
static string spelled_figures(const form *f, string figures) {
  int number = figures.size < 3 && (figures.size == 1 || *figures.at != '0');
  return number ? in_words(f->w, f->l, figures, "cardinal", NONE) : in_figures(f->w, f->l, figures);
}

static string spelled_out(const form *f, string written) {
  builder out = {0};
  string text = nfkc(f->w, written);
  for (size_t i = 0, end; i < text.size; i = end) {
    for (end = i; end < text.size && text.at[end] >= '0' && text.at[end] <= '9';) ++end;
    if (end == i) ++end;
    string piece = slice(text, i, end);
    if (i) put_char(f->w, &out, ' ');
    put(f->w, &out, all_decimal(piece) ? spelled_figures(f, piece) : upper(f->w, piece));
  }
  return BUILT(out);
}

/* Read a part as `verb` says, or as its type says; empty if it took no part. */
static string part(const form *f, string group, string verb, string by) {
  string written = written_as(f, group);
  if (!written.size) return NONE;
  const items *list = find_list(f->l, type_of(f, group));
  if (list && (!verb.size || is_ascii_text(verb, "one") || is_ascii_text(verb, "form") || is_ascii_text(verb, "minor"))) {
    const item *result = find_item(list, written);
    if (!result) fail(f->w->s, FAILURE_BUNDLE, "A rule of the bundle has a word that is not in its list. Build the bundle again.");
    return counted_form(f, result, verb, by);
  }
  if (!verb.size) verb = verb_of(f, group);
  if (is_ascii_text(verb, "number")) return in_number(f->w, f->l, quantity(f, group, NONE), gender_of(f, by));
  if (is_ascii_text(verb, "figures")) return in_figures(f->w, f->l, written);
  if (is_ascii_text(verb, "spelled")) return spelled_out(f, written);
  if (is_ascii_text(verb, "groups")) return read_groups(f, written, by);
  if (is_ascii_text(verb, "pieces")) return read_pieces(f, written, TEMPLATES_PIECE, by);
  if (is_ascii_text(verb, "parted")) return read_pieces(f, written, TEMPLATES_PARTED, by);
  if (is_ascii_text(verb, "read")) return f->read(f->with, written);
  if (is_ascii_text(verb, "lower")) return lower(f->w, written);
  if (!verb.size) return written;
  int cardinal = is_ascii_text(verb, "roman") || is_ascii_text(verb, "hundredths") || is_ascii_text(verb, "raised") ||
                 is_ascii_text(verb, "whole");
  return in_words(f->w, f->l, quantity(f, group, verb), cardinal ? "cardinal" : encode_utf8(f->w, verb), gender_of(f, by));
}

string say_form(const form *f) {
  builder words[DEEPEST] = {{0}};
  int whole[DEEPEST] = {1}, depth = 0;
  string say = f->r->say;
  size_t done = 0;
  for (match result = FIRST_MATCH; next_match(f->w, &PATTERNS[TEMPLATES_PART], say, &result); done = result.end) {
    put(f->w, &words[depth], slice(say, done, result.start));
    string mark = group_of(say, &result, TEMPLATES_PART_MARK);
    if (!mark.size) {
      string spoken = part(f, group_of(say, &result, TEMPLATES_PART_GROUP), group_of(say, &result, TEMPLATES_PART_VERB),
                           group_of(say, &result, TEMPLATES_PART_BY));
      put(f->w, &words[depth], spoken);
      whole[depth] = whole[depth] && spoken.size;
    } else if (*mark.at == '[' && depth + 1 < DEEPEST) {
      words[++depth] = (builder){0};
      whole[depth] = 1;
    } else if (*mark.at == ']' && depth > 0) {
      --depth;
      if (whole[depth + 1]) put(f->w, &words[depth], BUILT(words[depth + 1]));
    } else {
      fail(f->w->s, FAILURE_BUNDLE, "A rule of the bundle has brackets that do not match. Build the bundle again.");
    }
  }
  put(f->w, &words[0], slice(say, done, say.size));
  return BUILT(words[0]);
}
