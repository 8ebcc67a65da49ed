#include "messages.h"

#include <stdlib.h>
#include <string.h>

#include "scripts.h"

/* Return the script of a letter or digit; NULL for a rare one. */
static const char *script_of(int32_t c) {
  for (size_t i = 0; i < sizeof SCRIPTS / sizeof *SCRIPTS; ++i)
    if (SCRIPTS[i].first <= c && c <= SCRIPTS[i].last) return SCRIPTS[i].name;
  return NULL;
}

/* A character of a text as a number above 0; 0 after its end. */
static uint32_t unit_of(string text, size_t place) {
  return place < text.size ? (uint32_t)text.at[place] + 1 : 0;
}

static int bit_of(string text, size_t bit) { return unit_of(text, bit / 32) >> (31 - bit % 32) & 1; }

/* Return the first bit in which two different texts differ. */
static size_t first_difference(string a, string b) {
  size_t place = 0, bit = 0;
  while (unit_of(a, place) == unit_of(b, place)) ++place;
  for (uint32_t bits = unit_of(a, place) ^ unit_of(b, place); !(bits >> 31); bits <<= 1) ++bit;
  return 32 * place + bit;
}

int add_text_once(work *w, notes *texts, string text) {
  size_t leaf = texts->root;
  while (leaf & 1) leaf = texts->branches[leaf / 2].children[bit_of(text, texts->branches[leaf / 2].bit)];
  if (texts->count) {
    if (is_same(texts->all[leaf / 2], text)) return 0;
    size_t bit = first_difference(texts->all[leaf / 2], text), number = texts->count - 1;
    size_t *link = &texts->root;
    while (*link & 1 && texts->branches[*link / 2].bit < bit)
      link = &texts->branches[*link / 2].children[bit_of(text, texts->branches[*link / 2].bit)];
    branch added = {.bit = bit};
    added.children[bit_of(text, bit)] = 2 * texts->count;
    added.children[!bit_of(text, bit)] = *link;
    *link = 2 * number + 1; /* before the branches move */
    texts->branches = grow_list(w, texts->branches, number, &texts->branch_room, sizeof *texts->branches);
    texts->branches[number] = added;
  }
  PUSH(w, *texts, text);
  return 1;
}

string format_scripts(work *w, string text) {
  const char *names[sizeof SCRIPTS / sizeof *SCRIPTS];
  size_t count = 0;
  builder out = {0};
  for (size_t i = 0; i < text.size; ++i) {
    const char *name = is_alnum(text.at[i]) ? script_of(text.at[i]) : NULL;
    size_t known = 0;
    while (name && known < count && strcmp(names[known], name) != 0) ++known;
    if (!name || known < count) continue;
    put_ascii(w, &out, count ? ", " : " (");
    put_ascii(w, &out, name);
    names[count++] = name;
  }
  if (count) put_ascii(w, &out, " script)");
  return BUILT(out);
}

string shorten_text(work *w, string text, size_t most) {
  return text.size <= most ? text : join(w, slice(text, 0, most), decode_utf8(w, "…"));
}

string single_spaces(work *w, string text) {
  builder out = {0};
  text = strip_spaces(text);
  for (size_t i = 0; i < text.size; ++i)
    if (!is_space(text.at[i])) put_char(w, &out, text.at[i]);
    else if (!is_space(text.at[i - 1])) put_char(w, &out, ' ');
  return BUILT(out);
}

string quote(work *w, string text, size_t most) {
  builder out = {0};
  put_char(w, &out, '\'');
  put(w, &out, shorten_text(w, single_spaces(w, text), most));
  put_char(w, &out, '\'');
  return BUILT(out);
}

void put_repr(work *w, builder *out, int32_t c) {
  static const char named[] = "\n\r\t\\", letters[] = "nrt\\";
  const char *pattern = c < 0x100 ? "'\\x%02x'" : c < 0x10000 ? "'\\u%04x'" : "'\\U%08x'";
  const char *name = c > 0 && c < 0x80 ? strchr(named, c) : NULL;
  if (name) {
    put_ascii(w, out, format(w->s, w->memory, "'\\%c'", letters[name - named]));
  } else if (!is_printable(c)) {
    put_ascii(w, out, format(w->s, w->memory, pattern, (unsigned)c));
  } else {
    put_char(w, out, c == '\'' ? '"' : '\'');
    put_char(w, out, c);
    put_char(w, out, c == '\'' ? '"' : '\'');
  }
}

void put_symbol(work *w, builder *out, int32_t symbol) {
  put_repr(w, out, symbol);
  put_ascii(w, out, format(w->s, w->memory, " (U+%04X)", (unsigned)symbol));
}

static int by_code(const void *a, const void *b) {
  int32_t first = *(const int32_t *)a, second = *(const int32_t *)b;
  return first < second ? -1 : first > second;
}

string list_symbols(work *w, string symbols) {
  enum { MOST = 8 };
  builder sorted = {0}, out = {0};
  int count = 0;
  put(w, &sorted, symbols);
  if (sorted.count) qsort(sorted.all, sorted.count, sizeof *sorted.all, by_code);
  for (size_t i = 0; i < sorted.count && count < MOST; ++i) {
    int32_t c = sorted.all[i];
    if (i && c == sorted.all[i - 1]) continue;
    if (count++) put_ascii(w, &out, ", ");
    put_symbol(w, &out, c);
  }
  return BUILT(out);
}
