#include "markup.h"

#include <stdlib.h>
#include <string.h>

#include "patterns.h"
#include "word_tables.h"

enum { MOST_BYTES = 128, PIECE = 24, MOST_ALIKE = 3 }; /* bytes of a word, characters of its pieces, repetitions */

/* Replace a match by words unless it has them already. */
static void replace(work *w, edits *result, string text, const match *candidate, string words) {
  if (!is_same(words, slice(text, candidate->start, candidate->end))) PUSH(w, *result, (edit){candidate->start, candidate->end, words});
}

static const string NOTHING_SAID = {0};

static int is_inline_tag(work *w, string name) {
  static const char *const names[] = {"a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font",
                                      "i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong",
                                      "sub", "sup"};
  if (!name.size) return 1; /* a comment */
  name = lower(w, name);
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (is_ascii_text(name, names[i])) return 1;
  return 0;
}

/* Return figures and signs as raised or lowered characters. */
static string shift_figures(work *w, string figures, int is_raised) {
  string to = decode_utf8(w, is_raised ? "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻" : "₀₁₂₃₄₅₆₇₈₉₊₋");
  builder out = {0};
  for (size_t i = 0; i < figures.size; ++i) {
    int32_t c = figures.at[i];
    put_char(w, &out, to.at[is_digit(c) ? c - '0' : c == '+' ? 10 : 11]);
  }
  return BUILT(out);
}

edits tags(work *w, string text) {
  edits result = {0};
  for (match candidate = FIRST_MATCH; next_match(w, &PATTERNS[MARKDOWN_TAG], text, &candidate);) {
    string figures = group_of(text, &candidate, MARKDOWN_TAG_FIGURES);
    int is_inline = is_inline_tag(w, group_of(text, &candidate, MARKDOWN_TAG_NAME));
    if (figures.size)
      figures = shift_figures(w, figures, is_ascii_text(lower(w, group_of(text, &candidate, MARKDOWN_TAG_SHIFTED)), "sup"));
    replace(w, &result, text, &candidate, figures.size ? figures : is_inline ? NOTHING_SAID : decode_utf8(w, " "));
  }
  return result;
}

static int by_name(const void *name, const void *entry) { return strcmp(name, *(const char *const *)entry); }

static const char *named_entity(const char *name) { /* or NULL */
  const void *result = bsearch(name, ENTITIES, sizeof ENTITIES / sizeof *ENTITIES, sizeof *ENTITIES, by_name);
  return result ? ((const char *const *)result)[1] : NULL;
}

/* As html.unescape for an entity with its marks; 0 if it stays. */
static int unescape(work *w, string text, string *out) {
  builder result = {0};
  if (text.at[1] == '#') {
    int hexadecimal = text.at[2] == 'x' || text.at[2] == 'X';
    int32_t number = 0;
    size_t first = hexadecimal ? 3 : 2, i = first;
    for (int32_t c; (c = text.at[i]) != ';' && c < 128; ++i) /* digits of other scripts stay */
      number = hexadecimal ? 16 * number + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10) : 10 * number + c - '0';
    if (i == first) return 0;
    if (number < (int32_t)(sizeof LOW_ENTITIES / sizeof *LOW_ENTITIES)) put(w, &result, decode_utf8(w, LOW_ENTITIES[number]));
    else if ((number >= 0xD800 && number < 0xE000) || number > 0x10FFFF) put_char(w, &result, 0xFFFD);
    else put_char(w, &result, number); /* other numbers are not printable either */
    put(w, &result, slice(text, i + (text.at[i] == ';'), text.size));
  } else {
    char *name = encode_utf8(w, slice(text, 1, text.size));
    const char *candidate = named_entity(name);
    size_t size = text.size - 1;
    while (!candidate && --size > 1) { /* the longest known beginning */
      char cut = name[size];
      name[size] = 0;
      candidate = named_entity(name);
      name[size] = cut;
    }
    if (!candidate) return 0;
    put(w, &result, decode_utf8(w, candidate));
    put(w, &result, slice(text, 1 + size, text.size));
  }
  *out = BUILT(result);
  return 1;
}

edits entities(work *w, string text) {
  edits result = {0};
  string said;
  for (match candidate = FIRST_MATCH; next_match(w, &PATTERNS[MARKDOWN_ENTITY], text, &candidate);) {
    builder kept = {0};
    if (!unescape(w, slice(text, candidate.start, candidate.end), &said)) continue;
    for (size_t i = 0; i < said.size; ++i) {
      if (is_space(said.at[i])) put_char(w, &kept, ' ');
      else if (is_printable(said.at[i])) put_char(w, &kept, said.at[i]);
    }
    replace(w, &result, text, &candidate, BUILT(kept));
  }
  return result;
}

/* Runs of a mark that are not closed, one list per kind. */
typedef LIST(span) waiting;
enum { LONGEST_RUN = 3 };
static const char RUN_MARKS[] = "*_~`";

static int is_letter_at(string text, size_t place) { return place < text.size && is_alnum(text.at[place]); }
static int is_space_at(string text, size_t place) { return place >= text.size || is_space(text.at[place]); }

/* Close an earlier run, which `opening` gets; else the run may wait itself. */
static int close_run(work *w, string text, span run, waiting opened[4][LONGEST_RUN], span *opening) {
  int32_t mark = text.at[run.start];
  size_t size = run.end - run.start, kind = (size_t)(strchr(RUN_MARKS, mark) - RUN_MARKS);
  if (size > (mark == '~' ? 2 : LONGEST_RUN) || (mark == '~' && size == 1)) return 0;
  size_t before = run.start - 1, after = run.end; /* past the end if there is nothing */
  if (before < text.size && is_digit(text.at[before]) && after < text.size && is_digit(text.at[after])) return 0;
  waiting *list = &opened[kind][size - 1];
  if (list->count && (!is_space_at(text, before) || mark == '`')) {
    *opening = list->all[list->count - 1];
    int inside = is_letter_at(text, opening->start - 1) && is_letter_at(text, after);
    if (opening->end < run.start && !inside && !(mark == '_' && is_letter_at(text, after))) {
      list->count = 0;
      return 1;
    }
  }
  if (!is_space_at(text, after) && !(mark == '_' && is_letter_at(text, before))) PUSH(w, *list, run);
  return 0;
}

static int by_start(const void *a, const void *b) {
  const edit *first = a, *second = b;
  return first->start < second->start ? -1 : first->start > second->start;
}

edits marks(work *w, string text) {
  edits result = {0};
  waiting opened[4][LONGEST_RUN] = {{{0}}};
  for (match candidate = FIRST_MATCH; next_match(w, &PATTERNS[MARKDOWN_MARKS], text, &candidate);) {
    span whole = {candidate.start, candidate.end}, opening;
    if (has_group(&candidate, MARKDOWN_MARKS_RUN)) {
      if (!close_run(w, text, whole, opened, &opening)) continue;
      PUSH(w, result, (edit){opening.start, opening.end, {0}});
      PUSH(w, result, (edit){whole.start, whole.end, {0}});
      continue;
    }
    string kept = group_of(text, &candidate, MARKDOWN_MARKS_ADDRESS);
    if (!kept.size) kept = group_of(text, &candidate, MARKDOWN_MARKS_WORDS);
    if (!kept.size) kept = group_of(text, &candidate, MARKDOWN_MARKS_CHAR);
    if (has_group(&candidate, MARKDOWN_MARKS_CELL)) kept = decode_utf8(w, ", ");
    PUSH(w, result, (edit){whole.start, whole.end, kept});
  }
  if (result.count) qsort(result.all, result.count, sizeof *result.all, by_start); /* no two begin at one place */
  return result;
}

edits composed_letters(work *w, string text) {
  edits result = {0};
  if (all_ascii(text)) return result;
  for (match candidate = FIRST_MATCH; next_match(w, &PATTERNS[CHARACTERS_DECOMPOSED], text, &candidate);)
    replace(w, &result, text, &candidate, nfc(w, slice(text, candidate.start, candidate.end)));
  return result;
}

/* Write compatible characters as the letters that they stand for. */
static edits expanded(work *w, string text, int expression) {
  edits result = {0};
  if (all_ascii(text)) return result;
  for (match candidate = FIRST_MATCH; next_match(w, &PATTERNS[expression], text, &candidate);)
    replace(w, &result, text, &candidate, nfkc(w, slice(text, candidate.start, candidate.end)));
  return result;
}

edits expanded_ligatures(work *w, string text) { return expanded(w, text, CHARACTERS_LIGATURE); }
edits expanded_numerals(work *w, string text) { return expanded(w, text, CHARACTERS_NUMERAL); }

static edits constant(work *w, string text, int expression, const char *words) {
  edits result = {0};
  for (match candidate = FIRST_MATCH; next_match(w, &PATTERNS[expression], text, &candidate);)
    replace(w, &result, text, &candidate, decode_utf8(w, words));
  return result;
}

edits apostrophes(work *w, string text) { return constant(w, text, CHARACTERS_APOSTROPHE, "'"); }
edits dashes(work *w, string text) { return constant(w, text, CHARACTERS_DASH, " — "); }

static size_t utf8_size(string text) {
  size_t size = 0;
  for (size_t i = 0; i < text.size; ++i)
    size += text.at[i] < 0x80 ? 1 : text.at[i] < 0x800 ? 2 : text.at[i] < 0x10000 ? 3 : 4;
  return size;
}

edits divided_words(work *w, string text) {
  edits result = {0};
  for (match candidate = FIRST_MATCH; next_match(w, &PATTERNS[CHARACTERS_WORD], text, &candidate);) {
    string word = slice(text, candidate.start, candidate.end);
    builder out = {0};
    size_t alike = 0, kept = 0;
    if (utf8_size(word) <= MOST_BYTES) continue;
    for (size_t i = 0; i < word.size; ++i) {
      alike = i && word.at[i] == word.at[i - 1] ? alike + 1 : 1;
      if (alike > MOST_ALIKE) continue;
      if (kept && kept % PIECE == 0) put_char(w, &out, ' ');
      put_char(w, &out, word.at[i]);
      ++kept;
    }
    replace(w, &result, text, &candidate, BUILT(out));
  }
  return result;
}

static int by_picture(const void *picture, const void *entry) {
  int32_t a = *(const int32_t *)picture, b = *(const int32_t *)entry;
  return a < b ? -1 : a > b;
}

static string picture_name(work *w, int32_t c) {
  const void *result = bsearch(&c, PICTURES, sizeof PICTURES / sizeof *PICTURES, sizeof *PICTURES, by_picture);
  return result ? decode_utf8(w, PICTURES[((const char *)result - (const char *)PICTURES) / (ptrdiff_t)sizeof *PICTURES].name)
               : NOTHING_SAID;
}

/* Collect the names of joined pictures, each once; 0 if one has none. */
static int joined_names(work *w, string pictures, string *said) {
  enum { MOST = 64 }; /* more than are ever joined */
  string names[MOST];
  size_t count = 0;
  builder out = {0};
  match change;
  for (size_t i = 0; i < pictures.size; ++i) {
    string name = NOTHING_SAID;
    if (pictures.at[i] != 0x200D && !match_at(w, &PATTERNS[EMOJI_MODIFIER], pictures, i, &change))
      name = picture_name(w, pictures.at[i]);
    for (size_t j = 0; j < count && name.size; ++j)
      if (is_same(names[j], name)) name = NOTHING_SAID;
    if (!name.size || count == MOST) continue;
    names[count++] = name;
    if (out.count) put_char(w, &out, ' ');
    put(w, &out, name);
  }
  *said = BUILT(out);
  return count > 0;
}

static int emoji_name(work *w, string text, const match *result, string *said) { /* 0: no name */
  builder out = {0};
  string whole = slice(text, result->start, result->end);
  if (has_group(result, EMOJI_EMOJI_FLAG)) {
    put_ascii(w, &out, "flag");
    for (size_t i = 0; i < whole.size; ++i) put_char(w, &out, ' '), put_char(w, &out, whole.at[i] - 0x1F1E6 + 'A');
  } else if (has_group(result, EMOJI_EMOJI_KEYCAP)) {
    if (*whole.at == '#') put_ascii(w, &out, "hash");
    else if (*whole.at == '*') put_ascii(w, &out, "star");
    else put_char(w, &out, *whole.at);
  } else if (!has_group(result, EMOJI_EMOJI_CHANGE)) {
    return joined_names(w, group_of(text, result, EMOJI_EMOJI_JOINED), said);
  }
  *said = BUILT(out);
  return 1;
}

edits emoji_names(work *w, string text) {
  edits result = {0};
  size_t last_end = (size_t)-1;
  string last = NOTHING_SAID, name;
  for (match candidate = FIRST_MATCH; next_match(w, &PATTERNS[EMOJI_EMOJI], text, &candidate);) {
    if (!emoji_name(w, text, &candidate, &name) || is_same(name, slice(text, candidate.start, candidate.end))) continue;
    int follows = candidate.start == last_end, again = follows && name.size && is_same(name, last);
    if (follows || name.size) {
      if (name.size) last = name;
      last_end = candidate.end;
    }
    if (again || !name.size) {
      PUSH(w, result, (edit){candidate.start, candidate.end, {0}});
      continue;
    }
    builder out = {0};
    if (candidate.start && !is_space(text.at[candidate.start - 1])) put_char(w, &out, ' ');
    put(w, &out, name);
    if (candidate.end < text.size && (is_alnum(text.at[candidate.end]) || text.at[candidate.end] > 127)) put_char(w, &out, ' ');
    PUSH(w, result, (edit){candidate.start, candidate.end, BUILT(out)});
  }
  return result;
}
