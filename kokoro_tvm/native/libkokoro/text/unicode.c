/* Characters as in Python's str and unicodedata, by generated tables. */
#include "characters.h"

/* Properties of a character, see generated.py. */
typedef struct record {
  uint16_t flags, category;
  int8_t decimal, digit;
  uint8_t combining;
  int32_t cases[3]; /* lower, upper, title: differences, or places in the pool for SPECIAL characters */
} record;

#include "unicode_tables.h"

enum { SMALL, LARGE, TITLE, PAGE = 128 };
/* Hangul syllables are composed arithmetically: chapter 3.12 of the Unicode standard. */
enum { S_BASE = 0xAC00, L_BASE = 0x1100, V_BASE = 0x1161, T_BASE = 0x11A7, L_COUNT = 19, V_COUNT = 21, T_COUNT = 28 };
enum { S_COUNT = L_COUNT * V_COUNT * T_COUNT };

static const record *of(int32_t c) {
  return &records[c < 0 || c > 0x10FFFF ? 0 : pages[page_of[c / PAGE] * PAGE + c % PAGE]];
}

static int has(int32_t c, int flag) { return (of(c)->flags & flag) != 0; }
int is_alpha(int32_t c) { return has(c, ALPHA); }
int is_alnum(int32_t c) { return has(c, ALNUM); }
int is_upper(int32_t c) { return has(c, UPPER); }
int is_lower(int32_t c) { return has(c, LOWER); }
int is_printable(int32_t c) { return has(c, PRINTABLE); }
int is_decimal(int32_t c) { return of(c)->decimal >= 0; }
int is_digit(int32_t c) { return of(c)->digit >= 0; }
int decimal_of(int32_t c) { return of(c)->decimal; }
int digit_of(int32_t c) { return of(c)->digit; }
int category(int32_t c) { return of(c)->category; }

static int all(string text, int (*is_in_class)(int32_t)) {
  for (size_t i = 0; i < text.size; ++i)
    if (!is_in_class(text.at[i])) return 0;
  return text.size > 0;
}

int all_alpha(string text) { return all(text, is_alpha); }
int all_alnum(string text) { return all(text, is_alnum); }
int all_decimal(string text) { return all(text, is_decimal); }

int all_ascii(string text) {
  for (size_t i = 0; i < text.size; ++i)
    if (text.at[i] > 127) return 0;
  return 1;
}

int any_alnum(string text) {
  for (size_t i = 0; i < text.size; ++i)
    if (is_alnum(text.at[i])) return 1;
  return 0;
}

static int one_case(string text, int (*is_case)(int32_t), int (*is_other)(int32_t)) {
  int result = 0;
  for (size_t i = 0; i < text.size; ++i) {
    if (is_other(text.at[i]) || category(text.at[i]) == CATEGORY('L', 't')) return 0;
    result |= is_case(text.at[i]);
  }
  return result;
}

int text_is_upper(string text) { return one_case(text, is_upper, is_lower); }
int text_is_lower(string text) { return one_case(text, is_lower, is_upper); }

static int is_final(string text, size_t place) { /* whether a sigma at the place ends a word */
  size_t before = place, after = place + 1;
  while (before > 0 && has(text.at[before - 1], IGNORED)) --before;
  if (!before || !has(text.at[before - 1], CASED)) return 0;
  while (after < text.size && has(text.at[after], IGNORED)) ++after;
  return after == text.size || !has(text.at[after], CASED);
}

static void put_pooled(work *w, builder *out, int32_t place) {
  put(w, out, (string){pool + place + 1, (size_t)pool[place]});
}

static void put_cased(work *w, builder *out, string text, size_t place, int which) {
  int32_t c = text.at[place];
  const record *r = of(c);
  if (c == 0x3A3 && which == SMALL) put_char(w, out, is_final(text, place) ? 0x3C2 : 0x3C3);
  else if (r->flags & SPECIAL) put_pooled(w, out, r->cases[which]);
  else put_char(w, out, c + r->cases[which]);
}

static string cased(work *w, string text, int first, int others) {
  builder out = {0};
  for (size_t i = 0; i < text.size; ++i) put_cased(w, &out, text, i, i ? others : first);
  return BUILT(out);
}

string lower(work *w, string text) { return cased(w, text, SMALL, SMALL); }
string upper(work *w, string text) { return cased(w, text, LARGE, LARGE); }
string capitalize(work *w, string text) { return cased(w, text, TITLE, SMALL); }

static void put_decomposed(work *w, builder *out, int32_t c, int compatible) {
  if (c >= S_BASE && c < S_BASE + S_COUNT) {
    int32_t index = c - S_BASE;
    put_char(w, out, L_BASE + index / (V_COUNT * T_COUNT));
    put_char(w, out, V_BASE + index % (V_COUNT * T_COUNT) / T_COUNT);
    if (index % T_COUNT) put_char(w, out, T_BASE + index % T_COUNT);
    return;
  }
  if (!has(c, DECOMPOSED)) {
    put_char(w, out, c);
    return;
  }
  size_t low = 0, high = sizeof decompositions / sizeof *decompositions / 3;
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    if (decompositions[3 * middle] <= c) low = middle;
    else high = middle;
  }
  put_pooled(w, out, decompositions[3 * low + 1 + (size_t)compatible]);
}

/* Sort runs of marks by combining class, stably. Counting classes keeps the time linear in the length of a run. */
static void order(work *w, builder *text) {
  for (size_t start = 0; start < text->count;) {
    size_t end = start, sorted = 1;
    for (; end < text->count && of(text->all[end])->combining; ++end)
      if (end > start && of(text->all[end - 1])->combining > of(text->all[end])->combining) sorted = 0;
    if (!sorted) {
      size_t counts[257] = {0};
      int32_t *copy = room(w, end - start, sizeof *copy);
      for (size_t i = start; i < end; ++i) copy[i - start] = text->all[i], ++counts[of(text->all[i])->combining + 1];
      for (size_t i = 1; i < 257; ++i) counts[i] += counts[i - 1];
      for (size_t i = 0; i < end - start; ++i) text->all[start + counts[of(copy[i])->combining]++] = copy[i];
    }
    start = end + (end == start);
  }
}

/* Return the composition of two characters, or 0. */
static int32_t compose_pair(int32_t first, int32_t second) {
  if (first >= L_BASE && first < L_BASE + L_COUNT && second >= V_BASE && second < V_BASE + V_COUNT)
    return S_BASE + ((first - L_BASE) * V_COUNT + second - V_BASE) * T_COUNT;
  if (first >= S_BASE && first < S_BASE + S_COUNT && (first - S_BASE) % T_COUNT == 0 && second > T_BASE &&
      second < T_BASE + T_COUNT)
    return first + second - T_BASE;
  size_t low = 0, high = sizeof compositions / sizeof *compositions / 3;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const int32_t *at = compositions + 3 * middle;
    if (at[0] == first && at[1] == second) return at[2];
    if (at[0] < first || (at[0] == first && at[1] < second)) low = middle + 1;
    else high = middle;
  }
  return 0;
}

static string compose(const builder *text) { /* in place */
  size_t kept = 0, starter = 0;
  int last = -1; /* combining class of the last mark after the starter; -1: none */
  int started = 0;
  for (size_t i = 0; i < text->count; ++i) {
    int32_t c = text->all[i], whole;
    int class = of(c)->combining;
    if (started && last < class && (whole = compose_pair(text->all[starter], c)) != 0) {
      text->all[starter] = whole;
      continue;
    }
    if (class == 0) starter = kept, started = 1, last = -1;
    else last = class;
    text->all[kept++] = c;
  }
  return (string){text->all, kept};
}

static string normalized(work *w, string text, int compatible, int composes) {
  builder out = {0};
  if (all_ascii(text)) return text;
  for (size_t i = 0; i < text.size; ++i) put_decomposed(w, &out, text.at[i], compatible);
  order(w, &out);
  return composes ? compose(&out) : BUILT(out);
}

string nfc(work *w, string text) { return normalized(w, text, 0, 1); }
string nfd(work *w, string text) { return normalized(w, text, 0, 0); }
string nfkc(work *w, string text) { return normalized(w, text, 1, 1); }
string nfkd(work *w, string text) { return normalized(w, text, 1, 0); }
