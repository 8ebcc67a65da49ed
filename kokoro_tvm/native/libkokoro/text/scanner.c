#include "scanner.h"

#include <stdlib.h>
#include <string.h>

#include "patterns.h"

enum { DEEPEST = 3, TAKEN = 0xE000 }; /* DEEPEST: parts that are read again within parts; TAKEN: what a link has */

/* A scan of a text: what is found of it. */
typedef struct scan {
  work *w;
  const language *l;
  string text;
  charset chars;
  edits made;
  changes *changed;
  int depth;
} scan;

static void run(scan *s);

static int32_t fold(int32_t c) {
  if (is_space(c)) return ' ';
  if (c >= 0xFF01 && c <= 0xFF5E) return c - 0xFEE0;
  if (c == 0x2010 || c == 0x2011 || c == 0x2212) return '-';
  return c > 127 && is_decimal(c) ? '0' + decimal_of(c) : c;
}

/* The text as rules read it, character by character. */
static string folded(work *w, string text) {
  int32_t *made = room(w, text.size, sizeof *made);
  int ascii = all_ascii(text);
  for (size_t i = 0; i < text.size; ++i) made[i] = fold(text.at[i]);
  for (size_t i = 1; !ascii && i + 1 < text.size; ++i)
    if (is_one_of(made[i], "’ʼ´`＇‘") && is_alpha(made[i - 1]) && is_alpha(made[i + 1])) made[i] = '\'';
  return (string){made, text.size};
}

static int touches(int32_t c, int32_t other) { return kind_of(c) != 's' && kind_of(other) != 's' && !is_space(other); }

/* The edits with spaces where their words would touch others. */
static edits spaced(work *w, const language *l, const edits *made, string text) {
  edits found = {0};
  size_t done = (size_t)-1;
  int32_t last = 0;
  for (size_t i = 0; i < made->count; ++i) {
    edit each = made->all[i];
    if (l->joint.size && each.text.size) {
      int follows = done == each.start;
      int32_t before = follows ? last : each.start ? text.at[each.start - 1] : ' ';
      int32_t after = each.end < text.size ? text.at[each.end] : ' ';
      builder out = {0};
      if ((follows || touches(*each.text.at, before)) && before != ' ' && *each.text.at != ' ') put_char(w, &out, ' ');
      put(w, &out, each.text);
      if (touches(each.text.at[each.text.size - 1], after)) put_char(w, &out, ' ');
      each.text = BUILT(out);
      done = each.end;
      last = each.text.at[each.text.size - 1];
    }
    PUSH(w, found, each);
  }
  return found;
}

static scan scan_of(const scan *outer, string text, int depth) {
  scan made = {.w = outer->w, .l = outer->l, .text = text, .changed = outer->changed, .depth = depth};
  for (size_t i = 0; i < text.size; ++i) add_char(&made.chars, text.at[i]);
  return made;
}

/* A part of a form in words. */
static string read_part(void *with, string part) {
  const scan *outer = with;
  scan inner = scan_of(outer, part, outer->depth + 1);
  builder out = {0};
  size_t done = 0;
  run(&inner);
  edits made = spaced(inner.w, inner.l, &inner.made, part);
  for (size_t i = 0; i < made.count; ++i) {
    put(inner.w, &out, slice(part, done, made.all[i].start));
    put(inner.w, &out, made.all[i].text);
    done = made.all[i].end;
  }
  put(inner.w, &out, slice(part, done, part.size));
  return BUILT(out);
}

static int may_fit(const scan *s, const rule *r) {
  for (size_t i = 0; i < r->need_count; ++i) {
    const uint64_t *a = r->needs[i].bits, *b = s->chars.bits;
    if (!((a[0] & b[0]) | (a[1] & b[1]) | (a[2] & b[2]) | (a[3] & b[3]))) return 0;
  }
  return 1;
}

/* The form of a rule, which ends before a link: an address may run on into it. */
static int match_form(scan *s, const rule *r, size_t place, match *found) {
  if (!match_rule(s->w, r, s->text, place, found)) return 0;
  for (size_t i = place; i < found->end; ++i)
    if (s->text.at[i] == TAKEN) return match_rule(s->w, r, slice(s->text, 0, i), place, found);
  return 1;
}

/* Says the form that begins at a place by the first rule that fits; 0: none does. */
static int find_form(scan *s, size_t place, char kind) {
  string text = s->text;
  int32_t before = place ? text.at[place - 1] : 0;
  int inside = s->l->joint.size && kind != 's' && place && kind_of(before) != 's';
  int joined = kind == 'd' && place > 1 && is_one_of(before, ".,:/-–") && kind_of(text.at[place - 2]) == 'd';
  int pointed = text.at[place] == '.' && place + 1 < text.size && is_decimal(text.at[place + 1]);
  const uint16_t *next = text.at[place] < 128 ? s->l->beginning[pointed ? POINTED : text.at[place]] : NULL;
  for (size_t number = 0;; ++number) {
    size_t chosen = next ? *next++ : number;
    if (next ? chosen == NO_RULE : number == s->l->rule_count) return 0;
    const rule *r = &s->l->rules[chosen];
    match found;
    if (!next && !may_begin_with(r, text.at[place], kind, 0)) continue;
    if (inside != (r->where == INSIDE) || (joined && r->where == AT_WORD) || !may_fit(s, r)) continue;
    if (!match_form(s, r, place, &found)) continue;
    form f = {s->w, s->l, r, text, &found, read_part, s};
    PUSH(s->w, s->made, (edit){place, found.end, say_form(&f)});
    return 1;
  }
}

static size_t end_of(scan *s, int expression, size_t place) {
  match found;
  return match_at(s->w, &PATTERNS[expression], s->text, place, &found) && found.end > place ? found.end : place + 1;
}

static int in_letters_of(const scan *s, string word) {
  match found;
  return full_match(s->w, &s->l->letters, word, &found);
}

static string plain_letter(const scan *s, int32_t c) { /* without its accents */
  string plain = slice(nfkd(s->w, (string){&c, 1}), 0, 1);
  int32_t *kept = room(s->w, 1, sizeof *kept);
  *kept = *plain.at;
  return in_letters_of(s, plain) ? (string){kept, 1} : NONE;
}

static string with_own_letters(const scan *s, string word) {
  builder out = {0};
  if (all_ascii(word) || in_letters_of(s, word)) return word;
  for (size_t i = 0; i < word.size; ++i) {
    string c = slice(word, i, i + 1);
    const string *other = value_of(&s->l->replacements, c);
    if (*c.at == '\'' || in_letters_of(s, c)) put(s->w, &out, c);
    else put(s->w, &out, other && other->size ? *other : plain_letter(s, *c.at));
  }
  return BUILT(out);
}

static int any_alpha(string text) {
  for (size_t i = 0; i < text.size; ++i)
    if (is_alpha(text.at[i])) return 1;
  return 0;
}

/* A word that stays as it is, as far as its letters are the language's; where it ends. */
static size_t read_word(scan *s, size_t place) {
  size_t end = s->l->joint.size ? end_of(s, SCANNER_WORD, place) : place + 1;
  string word = slice(s->text, place, end), said = with_own_letters(s, word);
  if (same(said, word)) return end;
  if (!any_alpha(said)) said = NONE;
  PUSH(s->w, s->made, (edit){place, end, said});
  if (said.size) PUSH(s->w, *s->changed, (pair){word, said});
  return end;
}

static void read_sign(scan *s, size_t place) {
  string sign = slice(s->text, place, place + 1), said = NONE;
  const string *found = value_of(&s->l->signs, sign);
  int is_number = !found && *sign.at > 127 && category(*sign.at) >> 8 == 'N';
  if (!found && !is_number) return;
  if (found) {
    said = *found;
  } else {
    string plain = folded(s->w, nfkc(s->w, sign));
    if (!same(plain, sign) && s->depth < DEEPEST) said = read_part(s, plain);
    if (!any_alpha(said)) said = NONE;
  }
  PUSH(s->w, s->made, (edit){place, place + 1, said});
}

static void run(scan *s) {
  for (size_t place = 0; place < s->text.size;) {
    int32_t c = s->text.at[place];
    if (c == ' ' || c == TAKEN) {
      ++place;
      continue;
    }
    char kind = kind_of(c);
    if (s->depth < DEEPEST && find_form(s, place, kind)) {
      place = s->made.all[s->made.count - 1].end;
    } else if (kind == 'l') {
      place = read_word(s, place);
    } else if (kind == 'd') {
      size_t end = end_of(s, SCANNER_FIGURES, place);
      PUSH(s->w, s->made, (edit){place, end, in_figures(s->w, s->l, slice(s->text, place, end))});
      place = end;
    } else {
      read_sign(s, place++);
    }
  }
}

/* A number as a link wants it: with "&" as "a hundred and five" where it has "a" too. */
static string flagged(work *w, const language *l, string figures, string flags) {
  int full = has_verb(l, "full") && (holds(flags, '&') || holds(flags, 'n'));
  string words = in_words(w, l, figures, full ? "full" : "cardinal", (string){0}), one = decoded(w, "one ");
  if (!holds(flags, 'a') || !starts_with(words, one)) return words;
  return joined(w, decoded(w, "a "), slice(words, one.size, words.size));
}

/* Takes what links give phonemes for, and their numbers, out of a text. */
static string without_links(work *w, const language *l, string text, const links *links, edits *numbers) {
  if (!links->count) return text;
  int32_t *left = room(w, text.size, sizeof *left);
  memcpy(left, text.at, text.size * sizeof *left);
  for (size_t i = 0; i < links->count; ++i) {
    const text_link *each = &links->all[i];
    string written = slice((string){left, text.size}, each->start, each->end);
    int is_number = each->flags.size && all_decimal(written);
    if (is_number) PUSH(w, *numbers, (edit){each->start, each->end, flagged(w, l, written, each->flags)});
    for (size_t place = each->start; place < each->end && (is_number || is_fixed(each)); ++place) left[place] = TAKEN;
  }
  return (string){left, text.size};
}

static int by_start(const void *a, const void *b) { /* no two begin at one place */
  const edit *first = a, *second = b;
  return first->start < second->start ? -1 : first->start > second->start;
}

edits scan_forms(work *w, const language *l, const source *from, changes *changed) {
  scan outer = {.w = w, .l = l, .changed = changed};
  edits numbers = {0};
  scan s = scan_of(&outer, without_links(w, l, folded(w, from->text), &from->links, &numbers), 0);
  run(&s);
  for (size_t i = 0; i < numbers.count; ++i) PUSH(w, s.made, numbers.all[i]);
  if (numbers.count) qsort(s.made.all, s.made.count, sizeof *s.made.all, by_start);
  return spaced(w, l, &s.made, s.text);
}
