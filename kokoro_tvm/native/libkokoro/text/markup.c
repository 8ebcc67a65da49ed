#include "markup.h"

#include <stdlib.h>
#include <string.h>

#include "patterns.h"
#include "word_tables.h"

enum { MOST_BYTES = 128, PIECE = 24, MOST_ALIKE = 3 }; /* of a word, and of its pieces */

/* Puts words in the place of a match, unless it has them. */
static void replace(work *w, edits *made, string text, const match *found, string words) {
  if (!same(words, slice(text, found->start, found->end))) PUSH(w, *made, (edit){found->start, found->end, words});
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

edits tags(work *w, string text) {
  edits made = {0};
  for (match found = FIRST_MATCH; next_match(w, &PATTERNS[MARKDOWN_TAG], text, &found);)
    replace(w, &made, text, &found,
            is_inline_tag(w, group_of(text, &found, MARKDOWN_TAG_NAME)) ? NOTHING_SAID : decoded(w, " "));
  return made;
}

static int by_name(const void *name, const void *entry) { return strcmp(name, *(const char *const *)entry); }

static const char *named_entity(const char *name) { /* NULL: there is none */
  const void *found = bsearch(name, ENTITIES, sizeof ENTITIES / sizeof *ENTITIES, sizeof *ENTITIES, by_name);
  return found ? ((const char *const *)found)[1] : NULL;
}

/* What html.unescape makes of an entity with its marks; 0 where it leaves it. */
static int unescape(work *w, string text, string *out) {
  builder made = {0};
  if (text.at[1] == '#') {
    int hexadecimal = text.at[2] == 'x' || text.at[2] == 'X';
    int32_t number = 0;
    size_t first = hexadecimal ? 3 : 2, i = first;
    for (int32_t c; (c = text.at[i]) != ';' && c < 128; ++i) /* figures of other scripts stay */
      number = hexadecimal ? 16 * number + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10) : 10 * number + c - '0';
    if (i == first) return 0;
    if (number < (int32_t)(sizeof LOW_ENTITIES / sizeof *LOW_ENTITIES)) put(w, &made, decoded(w, LOW_ENTITIES[number]));
    else if ((number >= 0xD800 && number < 0xE000) || number > 0x10FFFF) put_char(w, &made, 0xFFFD);
    else put_char(w, &made, number); /* what is no character is not printable either */
    put(w, &made, slice(text, i + (text.at[i] == ';'), text.size));
  } else {
    char *name = encoded(w, slice(text, 1, text.size));
    const char *found = named_entity(name);
    size_t size = text.size - 1;
    while (!found && --size > 1) { /* the longest that it begins with */
      char cut = name[size];
      name[size] = 0;
      found = named_entity(name);
      name[size] = cut;
    }
    if (!found) return 0;
    put(w, &made, decoded(w, found));
    put(w, &made, slice(text, 1 + size, text.size));
  }
  *out = BUILT(made);
  return 1;
}

edits entities(work *w, string text) {
  edits made = {0};
  string said;
  for (match found = FIRST_MATCH; next_match(w, &PATTERNS[MARKDOWN_ENTITY], text, &found);) {
    builder kept = {0};
    if (!unescape(w, slice(text, found.start, found.end), &said)) continue;
    for (size_t i = 0; i < said.size; ++i) {
      if (is_space(said.at[i])) put_char(w, &kept, ' ');
      else if (is_printable(said.at[i])) put_char(w, &kept, said.at[i]);
    }
    replace(w, &made, text, &found, BUILT(kept));
  }
  return made;
}

/* Runs of a mark that wait for the run that ends them, one list for each kind. */
typedef LIST(span) waiting;
enum { LONGEST_RUN = 3 };
static const char RUN_MARKS[] = "*_~`";

static int is_letter_at(string text, size_t place) { return place < text.size && is_alnum(text.at[place]); }
static int is_space_at(string text, size_t place) { return place >= text.size || is_space(text.at[place]); }

/* Whether a run ends another, which `opening` gets then; else it may wait itself. */
static int close_run(work *w, string text, span run, waiting opened[4][LONGEST_RUN], span *opening) {
  int32_t mark = text.at[run.start];
  size_t size = run.end - run.start, kind = (size_t)(strchr(RUN_MARKS, mark) - RUN_MARKS);
  if (size > (mark == '~' ? 2 : LONGEST_RUN) || (mark == '~' && size == 1)) return 0;
  size_t before = run.start - 1, after = run.end; /* before: past the end where there is nothing */
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
  edits made = {0};
  waiting opened[4][LONGEST_RUN] = {{{0}}};
  for (match found = FIRST_MATCH; next_match(w, &PATTERNS[MARKDOWN_MARKS], text, &found);) {
    span whole = {found.start, found.end}, opening;
    if (took_part(&found, MARKDOWN_MARKS_RUN)) {
      if (!close_run(w, text, whole, opened, &opening)) continue;
      PUSH(w, made, (edit){opening.start, opening.end, {0}});
      PUSH(w, made, (edit){whole.start, whole.end, {0}});
      continue;
    }
    string kept = group_of(text, &found, MARKDOWN_MARKS_ADDRESS);
    if (!kept.size) kept = group_of(text, &found, MARKDOWN_MARKS_WORDS);
    if (!kept.size) kept = group_of(text, &found, MARKDOWN_MARKS_CHAR);
    if (took_part(&found, MARKDOWN_MARKS_CELL)) kept = decoded(w, ", ");
    PUSH(w, made, (edit){whole.start, whole.end, kept});
  }
  if (made.count) qsort(made.all, made.count, sizeof *made.all, by_start); /* no two begin at one place */
  return made;
}

edits composed_letters(work *w, string text) {
  edits made = {0};
  if (all_ascii(text)) return made;
  for (match found = FIRST_MATCH; next_match(w, &PATTERNS[CHARACTERS_DECOMPOSED], text, &found);)
    replace(w, &made, text, &found, nfc(w, slice(text, found.start, found.end)));
  return made;
}

static edits constant(work *w, string text, int expression, const char *words) {
  edits made = {0};
  for (match found = FIRST_MATCH; next_match(w, &PATTERNS[expression], text, &found);)
    replace(w, &made, text, &found, decoded(w, words));
  return made;
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
  edits made = {0};
  for (match found = FIRST_MATCH; next_match(w, &PATTERNS[CHARACTERS_WORD], text, &found);) {
    string word = slice(text, found.start, found.end);
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
    replace(w, &made, text, &found, BUILT(out));
  }
  return made;
}

static int by_picture(const void *picture, const void *entry) {
  int32_t a = *(const int32_t *)picture, b = *(const int32_t *)entry;
  return a < b ? -1 : a > b;
}

static string picture_name(work *w, int32_t c) {
  const void *found = bsearch(&c, PICTURES, sizeof PICTURES / sizeof *PICTURES, sizeof *PICTURES, by_picture);
  return found ? decoded(w, PICTURES[((const char *)found - (const char *)PICTURES) / (ptrdiff_t)sizeof *PICTURES].name)
               : NOTHING_SAID;
}

/* The names of joined pictures, each once; 0 where none has one. */
static int joined_names(work *w, string pictures, string *said) {
  enum { MOST = 64 }; /* as many as are joined, and more */
  string names[MOST];
  size_t count = 0;
  builder out = {0};
  match change;
  for (size_t i = 0; i < pictures.size; ++i) {
    string name = NOTHING_SAID;
    if (pictures.at[i] != 0x200D && !match_at(w, &PATTERNS[EMOJI_MODIFIER], pictures, i, &change))
      name = picture_name(w, pictures.at[i]);
    for (size_t j = 0; j < count && name.size; ++j)
      if (same(names[j], name)) name = NOTHING_SAID;
    if (!name.size || count == MOST) continue;
    names[count++] = name;
    if (out.count) put_char(w, &out, ' ');
    put(w, &out, name);
  }
  *said = BUILT(out);
  return count > 0;
}

static int emoji_name(work *w, string text, const match *found, string *said) { /* 0: it has none */
  builder out = {0};
  string whole = slice(text, found->start, found->end);
  if (took_part(found, EMOJI_EMOJI_FLAG)) {
    put_ascii(w, &out, "flag");
    for (size_t i = 0; i < whole.size; ++i) put_char(w, &out, ' '), put_char(w, &out, whole.at[i] - 0x1F1E6 + 'A');
  } else if (took_part(found, EMOJI_EMOJI_KEYCAP)) {
    if (*whole.at == '#') put_ascii(w, &out, "hash");
    else if (*whole.at == '*') put_ascii(w, &out, "star");
    else put_char(w, &out, *whole.at);
  } else if (!took_part(found, EMOJI_EMOJI_CHANGE)) {
    return joined_names(w, group_of(text, found, EMOJI_EMOJI_JOINED), said);
  }
  *said = BUILT(out);
  return 1;
}

edits emoji_names(work *w, string text) {
  edits made = {0};
  size_t last_end = (size_t)-1;
  string last = NOTHING_SAID, name;
  for (match found = FIRST_MATCH; next_match(w, &PATTERNS[EMOJI_EMOJI], text, &found);) {
    if (!emoji_name(w, text, &found, &name) || same(name, slice(text, found.start, found.end))) continue;
    int follows = found.start == last_end, again = follows && name.size && same(name, last);
    if (follows || name.size) {
      if (name.size) last = name;
      last_end = found.end;
    }
    if (again || !name.size) {
      PUSH(w, made, (edit){found.start, found.end, {0}});
      continue;
    }
    builder out = {0};
    if (found.start && !is_space(text.at[found.start - 1])) put_char(w, &out, ' ');
    put(w, &out, name);
    if (found.end < text.size && (is_alnum(text.at[found.end]) || text.at[found.end] > 127)) put_char(w, &out, ' ');
    PUSH(w, made, (edit){found.start, found.end, BUILT(out)});
  }
  return made;
}
