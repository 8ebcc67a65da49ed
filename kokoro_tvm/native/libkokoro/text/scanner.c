#include "scanner.h"

#include <stdlib.h>
#include <string.h>

#include "patterns.h"

enum { DEEPEST = 3, TAKEN = 0xE000 }; /* DEEPEST: nesting of parts that are read again; TAKEN: placeholder of a link's text */

/* A form that may begin at a place. r: NULL for the text as it is written. has_neighbours: whether a doubt about it asks
 * for other forms. */
typedef struct proposal {
  size_t start, end;
  const rule *r;
  int cost, has_neighbours;
} proposal;
typedef LIST(proposal) proposals;

/* State of a scan and its results. */
typedef struct scan {
  work *w;
  const language *l;
  const english *e; /* for parts of speech, or NULL */
  string text;
  charset chars;
  edits made;
  changes *changed;
  int depth;
  const string *tags;                       /* by the place of a word's first character; NULL until they are needed */
  enum { UNSEEN, ABSENT, PRESENT } *topics; /* of each doubt, whether the text has its topic */
  span *neighbours; /* of each doubt, the end of the first form of its kinds and the start of the last; or NULL */
} scan;

static void run(scan *s);

static int32_t fold_character(int32_t c) {
  if (is_space(c)) return ' ';
  if (c >= 0xFF01 && c <= 0xFF5E) return c - 0xFEE0;
  if (c == 0x2010 || c == 0x2011 || c == 0x2212) return '-';
  return c > 127 && is_decimal(c) ? '0' + decimal_of(c) : c;
}

/* Return the text as rules read it, character by character. */
static string fold(work *w, string text) {
  int32_t *result = room(w, text.size, sizeof *result);
  int ascii = all_ascii(text);
  for (size_t i = 0; i < text.size; ++i) result[i] = fold_character(text.at[i]);
  for (size_t i = 1; !ascii && i + 1 < text.size; ++i)
    if (is_one_of(result[i], "’ʼ´`＇‘") && is_alpha(result[i - 1]) && is_alpha(result[i + 1])) result[i] = '\'';
  return (string){result, text.size};
}

static int touches(int32_t c, int32_t other) { return kind_of(c) != 's' && kind_of(other) != 's' && !is_space(other); }

/* Return the edits with spaces where words would touch others. */
static edits add_spaces(work *w, const language *l, const edits *part, string text) {
  edits result = {0};
  size_t done = (size_t)-1;
  int32_t last = 0;
  for (size_t i = 0; i < part->count; ++i) {
    edit element = part->all[i];
    if (l->joint.size && element.text.size) {
      int follows = done == element.start;
      int32_t before = follows ? last : element.start ? text.at[element.start - 1] : ' ';
      int32_t after = element.end < text.size ? text.at[element.end] : ' ';
      builder out = {0};
      if ((follows || touches(*element.text.at, before)) && before != ' ' && *element.text.at != ' ') put_char(w, &out, ' ');
      put(w, &out, element.text);
      if (touches(element.text.at[element.text.size - 1], after)) put_char(w, &out, ' ');
      element.text = BUILT(out);
      done = element.end;
      last = element.text.at[element.text.size - 1];
    }
    PUSH(w, result, element);
  }
  return result;
}

static scan scan_of(const scan *outer, string text, int depth) {
  scan result = {.w = outer->w, .l = outer->l, .text = text, .changed = outer->changed, .depth = depth};
  result.topics = room(outer->w, outer->l->doubt_count, sizeof *result.topics);
  for (size_t i = 0; i < text.size; ++i) add_char(&result.chars, text.at[i]);
  return result;
}

/* Read a part of a form. */
static string read_part(void *with, string part) {
  const scan *outer = with;
  scan inner = scan_of(outer, part, outer->depth + 1);
  builder out = {0};
  size_t done = 0;
  run(&inner);
  edits result = add_spaces(inner.w, inner.l, &inner.made, part);
  for (size_t i = 0; i < result.count; ++i) {
    put(inner.w, &out, slice(part, done, result.all[i].start));
    put(inner.w, &out, result.all[i].text);
    done = result.all[i].end;
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

/* Match a form that ends before the next link: an address may run on into it. */
static int match_form(scan *s, const rule *r, size_t place, match *result) {
  if (!match_rule(s->w, r, s->text, place, result)) return 0;
  for (size_t i = place; i < result->end; ++i)
    if (s->text.at[i] == TAKEN) return match_rule(s->w, r, slice(s->text, 0, i), place, result);
  return 1;
}

/* Return whether the paragraph has what a doubt wants near and not what it excludes. */
static int has_topic(scan *s, size_t number) {
  const doubt *d = &s->l->doubts[number];
  match ignored;
  if (s->topics[number] == UNSEEN) {
    int holds = !d->near.code || search(s->w, &d->near, s->text, 0, &ignored);
    holds = holds && (!d->unless.code || !search(s->w, &d->unless, s->text, 0, &ignored));
    s->topics[number] = holds ? PRESENT : ABSENT;
  }
  return s->topics[number] == PRESENT;
}

/* Return the part of speech of the word at a place or behind the space there. */
static string next_tag(scan *s, size_t place) {
  if (!s->e) return NONE;
  if (!s->tags) s->tags = find_tags(s->w, s->e, s->text);
  place += place < s->text.size && s->text.at[place] == ' ';
  return place < s->text.size ? s->tags[place] : NONE;
}

static int has_next_tag(scan *s, const doubt *d, size_t place) {
  for (size_t i = 0; i < d->next_count; ++i)
    if (is_same(next_tag(s, place), d->next[i])) return 1;
  return 0;
}

/* Find, for each doubt about forms that stand alone, where the first form of its kinds ends and the last one begins. */
static void find_neighbours(scan *s, const proposals *all) {
  s->neighbours = room(s->w, s->l->doubt_count, sizeof *s->neighbours);
  for (size_t number = 0; number < s->l->doubt_count; ++number) {
    const doubt *d = &s->l->doubts[number];
    span *outer = &s->neighbours[number];
    *outer = (span){s->text.size + 1, 0};
    for (size_t i = 0; d->alone_count && i < all->count; ++i) {
      const proposal *p = &all->all[i];
      for (size_t k = 0; p->r && k < d->alone_count; ++k) {
        if (strcmp(p->r->kind, d->alone[k]) != 0) continue;
        if (p->end < outer->start) outer->start = p->end;
        outer->end = p->start;
      }
    }
  }
}

/* Set the cost of a form: what speaks against it. */
static void set_cost(scan *s, proposal *of) {
  const rule *r = of->r;
  size_t start = of->start, end = of->end;
  match ignored;
  of->cost = 0;
  for (size_t i = 0; r->doubted && i < s->l->doubt_count; ++i) {
    const doubt *d = &s->l->doubts[i];
    if (strcmp(d->kind, r->kind) != 0) continue;
    if (d->after.code && !stands_before(s->w, &d->after, s->text, start)) continue;
    if (d->before.code && !match_at(s->w, &d->before, s->text, end, &ignored)) continue;
    if (!has_topic(s, i)) continue;
    if (d->next_count && !has_next_tag(s, d, end)) continue;
    if (d->alone_count && s->neighbours && (s->neighbours[i].start <= start || s->neighbours[i].end >= end)) continue;
    of->has_neighbours |= d->alone_count > 0;
    of->cost += d->cost;
  }
}

/* Add the forms that may begin at a place, up to the first one without a doubt; return whether there is such a one. */
static int propose_forms(scan *s, size_t place, char kind, proposals *to) {
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
    match result;
    if (!next && !may_begin_with(r, text.at[place], kind, 0)) continue;
    if (inside != (r->where == INSIDE) || (joined && r->where == AT_WORD) || !may_fit(s, r)) continue;
    if (!match_form(s, r, place, &result)) continue;
    proposal form = {.start = place, .end = result.end, .r = r};
    set_cost(s, &form);
    PUSH(s->w, *to, form);
    if (!form.cost) return 1;
  }
}

static size_t end_of(scan *s, int expression, size_t place) {
  match result;
  return match_at(s->w, &PATTERNS[expression], s->text, place, &result) && result.end > place ? result.end : place + 1;
}

/* Return the end of the word, the digits or the sign at a place. */
static size_t end_of_text(scan *s, size_t place, char kind) {
  if (kind == 'd') return end_of(s, SCANNER_FIGURES, place);
  return kind == 'l' && s->l->joint.size ? end_of(s, SCANNER_WORD, place) : place + 1;
}

static int in_letters_of(const scan *s, string word) {
  match result;
  return full_match(s->w, &s->l->letters, word, &result);
}

static string plain_letter(const scan *s, int32_t c) { /* without accents */
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

/* Read an unchanged word as far as its letters belong to the language. */
static void read_word(scan *s, size_t place, size_t end) {
  string word = slice(s->text, place, end), said = with_own_letters(s, word);
  if (is_same(said, word)) return;
  if (!any_alpha(said)) said = NONE;
  PUSH(s->w, s->made, (edit){place, end, said});
  if (said.size) PUSH(s->w, *s->changed, (pair){word, said});
}

static void read_sign(scan *s, size_t place) {
  string sign = slice(s->text, place, place + 1), said = NONE;
  const string *result = value_of(&s->l->signs, sign);
  int is_number = !result && *sign.at > 127 && category(*sign.at) >> 8 == 'N';
  if (!result && !is_number) return;
  if (result) {
    said = *result;
  } else {
    string plain = fold(s->w, nfkc(s->w, sign));
    if (!is_same(plain, sign) && s->depth < DEEPEST) said = read_part(s, plain);
    if (!any_alpha(said)) said = NONE;
  }
  PUSH(s->w, s->made, (edit){place, place + 1, said});
}

/* Read a word, digits or a sign by itself. */
static void keep(scan *s, size_t place, size_t end) {
  int32_t c = s->text.at[place];
  char kind = kind_of(c);
  if (kind == 'l') read_word(s, place, end);
  else if (kind == 'd') PUSH(s->w, s->made, (edit){place, end, in_figures(s->w, s->l, slice(s->text, place, end))});
  else if (c != ' ' && c != TAKEN) read_sign(s, place);
}

/* Propose forms wherever a path may lead, and read the cheapest path; of equal ones, that with the earlier rules. */
static void run(scan *s) {
  size_t size = s->text.size;
  proposals all = {0};
  size_t *first = room(s->w, size + 1, sizeof *first), *best = room(s->w, size + 1, sizeof *best);
  int *least = room(s->w, size + 1, sizeof *least); /* cost from a place to the end */
  char *reached = room(s->w, size + 1, 1);
  reached[0] = 1;
  for (size_t place = 0; place < size; ++place) {
    int32_t c = s->text.at[place];
    first[place] = all.count;
    if (!reached[place]) continue;
    char kind = kind_of(c);
    int certain = c != ' ' && c != TAKEN && s->depth < DEEPEST && propose_forms(s, place, kind, &all);
    /* To keep what a rule proposes as it is written costs as much as a small doubt. */
    proposal written = {.start = place, .cost = all.count > first[place]};
    written.end = c == ' ' || c == TAKEN ? place + 1 : end_of_text(s, place, kind);
    if (!certain) PUSH(s->w, all, written);
    for (size_t i = first[place]; i < all.count; ++i) reached[all.all[i].end] = 1;
  }
  first[size] = all.count;
  for (size_t i = 0; i < all.count; ++i) {
    if (!all.all[i].has_neighbours) continue;
    if (!s->neighbours) find_neighbours(s, &all);
    set_cost(s, &all.all[i]);
  }
  for (size_t place = size; place--;) {
    for (size_t i = first[place]; i < first[place + 1]; ++i) {
      int cost = all.all[i].cost + least[all.all[i].end];
      if (i == first[place] || cost < least[place]) least[place] = cost, best[place] = i;
    }
  }
  for (size_t place = 0; place < size;) {
    const proposal *p = &all.all[best[place]];
    if (p->r) {
      match result;
      match_form(s, p->r, place, &result);
      form f = {s->w, s->l, p->r, s->text, &result, read_part, s};
      PUSH(s->w, s->made, (edit){place, p->end, say_form(&f)});
    } else {
      keep(s, place, p->end);
    }
    place = p->end;
  }
}

/* Return a number as a link requests it: "&" adds "and", "a" replaces "one". */
static string apply_flags(work *w, const language *l, string figures, string flags) {
  int full = has_verb(l, "full") && (contains(flags, '&') || contains(flags, 'n'));
  string words = in_words(w, l, figures, full ? "full" : "cardinal", (string){0}), one = decode_utf8(w, "one ");
  if (!contains(flags, 'a') || !starts_with(words, one)) return words;
  return join(w, decode_utf8(w, "a "), slice(words, one.size, words.size));
}

/* Remove texts with phonemes of links, and their numbers. */
static string without_links(work *w, const language *l, string text, const links *links, edits *numbers) {
  if (!links->count) return text;
  int32_t *left = room(w, text.size, sizeof *left);
  memcpy(left, text.at, text.size * sizeof *left);
  for (size_t i = 0; i < links->count; ++i) {
    const text_link *element = &links->all[i];
    string written = slice((string){left, text.size}, element->start, element->end);
    int is_number = element->flags.size && all_decimal(written);
    if (is_number) PUSH(w, *numbers, (edit){element->start, element->end, apply_flags(w, l, written, element->flags)});
    for (size_t place = element->start; place < element->end && (is_number || is_fixed(element)); ++place) left[place] = TAKEN;
  }
  return (string){left, text.size};
}

static int by_start(const void *a, const void *b) { /* no two begin at one place */
  const edit *first = a, *second = b;
  return first->start < second->start ? -1 : first->start > second->start;
}

edits scan_forms(work *w, const language *l, const english *e, const source *from, changes *changed) {
  scan outer = {.w = w, .l = l, .changed = changed};
  edits numbers = {0};
  scan s = scan_of(&outer, without_links(w, l, fold(w, from->text), &from->links, &numbers), 0);
  s.e = e;
  run(&s);
  for (size_t i = 0; i < numbers.count; ++i) PUSH(w, s.made, numbers.all[i]);
  if (numbers.count) qsort(s.made.all, s.made.count, sizeof *s.made.all, by_start);
  return add_spaces(w, l, &s.made, s.text);
}
