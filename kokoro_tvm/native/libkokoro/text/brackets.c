/* Markup in brackets: pauses, voices and rates until the next, and links of words (runtime/text/markup/inline.py). The
 * result depends on the text alone, not on its portions: nothing changes before the whole bracket has arrived. */
#include "items.h"
#include "numbers.h"
#include "patterns.h"

/* A bracket of the input. kind: whether it is text, a setting, or words with a link. */
typedef struct bracket {
  enum { WORDS, SETTING, LINK } kind;
  string text; /* the input from the bracket on */
  size_t close, end;
  string name, value;
  const char *lacks; /* what a bracket lacks that begins like markup; or NULL */
  string begun;
} bracket;

/* Find a character in text[start:end]; `place` is 0 if it is not there. */
static progress find_char(const markup *m, string text, int32_t c, size_t start, size_t end, size_t *place) {
  *place = 0;
  for (size_t i = start; i < text.size && i < end; ++i)
    if (text.at[i] == c) return *place = i, GIVES;
  return text.size >= end || m->input.complete ? GIVES : WAITS;
}

static string without(string text, int32_t mark) { /* at both ends */
  while (text.size && *text.at == mark) text = slice(text, 1, text.size);
  while (text.size && text.at[text.size - 1] == mark) --text.size;
  return text;
}

/* Parse a whole number or half of one; return 0 for another text. */
static int parse_stress(string request, stress *result) {
  static const char *const halves[] = {"0.5", "+0.5", "-0.5"};
  size_t first = request.size && (*request.at == '+' || *request.at == '-'), size = request.size;
  int negative = first && *request.at == '-', value = 0;
  for (int i = 0; i < 3; ++i)
    if (is_ascii_text(request, halves[i])) return *result = i < 2 ? SLIGHT : WEAKER, 1;
  if (first == size) return 0;
  for (size_t i = first; i < size; ++i) {
    if (request.at[i] < '0' || request.at[i] > '9') return 0;
    value = value > 1 ? value : 10 * value + request.at[i] - '0';
  }
  *result = !value ? UNSTRESSED : value == 1 ? (negative ? LOWERED : STRESSED) : negative ? MUTED : STRONG;
  return 1;
}

/* Parse the text in round brackets; return 0 if it asks for nothing. */
static int parse_link(string request, text_link *result) {
  *result = (text_link){.stress = AS_IT_IS};
  if (parse_stress(request, &result->stress)) return 1;
  if (request.size < 2 || *request.at != request.at[request.size - 1]) return 0;
  if (*request.at == '/') return result->phonemes = some(without(request, '/')), 1;
  if (*request.at == '#') return result->flags = some(without(request, '#')), 1;
  return 0;
}

static int is_word_of(work *w, string word, string text) {
  string small = lower(w, text);
  for (size_t start = 0, end; start < small.size; start = end + 1) {
    for (end = start; end < small.size && !is_space(small.at[end]);) ++end;
    if (is_same(word, slice(small, start, end))) return 1;
  }
  return 0;
}

/* Return whether the characters between slashes are phonemes, not a path. Phonemes have a stress mark or a space, or are
 * symbols of the model. Small letters alone must also have a vowel, be sounds of the language, and be no word of the
 * text. */
static int are_phonemes(work *w, const markup *m, string written, string text) {
  int letters = 1, vowels = 0, foreign = 0;
  for (size_t i = 0; i < written.size; ++i)
    if (is_one_of(written.at[i], "ˈˌ ")) return 1;
  for (size_t i = 0; i < written.size; ++i) {
    int32_t c = written.at[i];
    if (!m->names.knows(m->names.with, c)) return 0;
    letters = letters && c >= 'a' && c <= 'z';
    vowels = vowels || is_one_of(c, VOWELS);
    foreign = foreign || is_one_of(c, NOT_ENGLISH);
  }
  if (!letters) return 1;
  char letter = m->names.language(m->names.with, w, m->style->voice);
  return vowels && !(foreign && (letter == 'a' || letter == 'b')) && !is_word_of(w, written, text);
}

static void apply_setting(work *w, markup *m, markup_items *items, const bracket *b) {
  speaking_style style = *m->style;
  string name = b->name, value = strip_spaces(b->value);
  at_place(w, m->input.line, m->input.column);
  if (*name.at == 'p') put_break(w, items, CLAUSE, parse_duration(w, value, "[pause:0.5s] or [pause:500ms]"));
  if (*name.at == 'r') style.rate = value.size ? parse_rate(w, value) : 1;
  if (*name.at == 'v') {
    if (!value.size) value = NONE;
    m->names.language(m->names.with, w, value);
    if (!is_same(value, style.voice)) put_break(w, items, CLAUSE, -1);
    style.voice = IS_NONE(value) ? NONE : join(&m->lasting, value, NONE);
  }
  at_no_place(w);
  if (*name.at != 'p') set_style(m, style);
  take_input(w, m, b->close + 1);
}

/* Append the text in square brackets, with the link that the round brackets ask for. */
static void take_link(work *w, markup *m, markup_items *items, const bracket *b) {
  text_link asked;
  string inner = slice(b->text, 1, b->close);
  int has_link = parse_link(slice(b->text, b->close + 2, b->end), &asked);
  if (has_link && asked.phonemes.size) {
    has_link = are_phonemes(w, m, asked.phonemes, inner);
    at_place(w, m->input.line, m->input.column);
    if (has_link) asked.phonemes = check_symbols(w, &m->names, asked.phonemes);
    at_no_place(w);
  }
  take_input(w, m, 1);
  source run = take_input(w, m, b->close - 1);
  take_input(w, m, b->end - b->close + 1);
  if (has_link) {
    run = collapse_space(w, &run);
    asked.end = run.text.size;
    PUSH(w, run.links, asked);
  }
  put_run(w, m, items, run);
}

/* Find out what the bracket at a place of the input is. */
static progress classify(work *w, const markup *m, size_t place, bracket *b) {
  string text = slice(m->input.text, place, m->input.text.size);
  size_t open;
  match result;
  *b = (bracket){.kind = WORDS, .text = text};
  if (find_char(m, text, ']', 1, 1 + LONGEST_LINK, &b->close) == WAITS) return WAITS;
  string inner = b->close ? slice(text, 1, b->close) : slice(text, 0, 1);
  if (contains(inner, '[') || search(w, &PATTERNS[PASSAGES_BLANK_LINE], inner, 0, &result) || !strip_spaces(inner).size) {
    if (!match_at(w, &PATTERNS[INLINE_BEGUN], text, 0, &result)) return GIVES;
    b->lacks = "bracket";
    b->begun = slice(text, result.start, result.end);
  } else if (full_match(w, &PATTERNS[INLINE_SETTING], inner, &result)) {
    b->kind = SETTING;
    b->name = group_of(inner, &result, 1);
    b->value = group_of(inner, &result, 2);
  } else {
    size_t next = b->close + 2;
    if (find_char(m, text, '(', next - 1, next, &open) == WAITS) return WAITS;
    if (open && find_char(m, text, ')', next, next + LONGEST_LINK, &b->end) == WAITS) return WAITS;
    b->kind = open && b->end ? LINK : WORDS;
    if (!open || b->end || next >= text.size || text.at[next] != '/') return GIVES;
    b->lacks = "round bracket";
    b->begun = slice(text, 0, next + 1);
  }
  return GIVES;
}

/* Add a notice about a bracket behind `before` characters that begins like markup. */
static void note_bracket(work *w, const markup *m, size_t before, const bracket *b) {
  input place = m->input;
  builder out = {0};
  advance(&place, before);
  put_ascii(m->noting, &out, format(w->s, m->noting->memory, "In line %zu, column %zu, ", place.line, place.column));
  put(m->noting, &out, quote(m->noting, b->begun, MOST_SHOWN));
  put_ascii(m->noting, &out, format(w->s, m->noting->memory, " has no closing %s; it is read as text.", b->lacks));
  PUSH(m->noting, *m->notices, (notice){.sentence = BUILT(out)});
}

progress next_bracket(work *w, markup *m, markup_items *items) {
  string text = m->input.text;
  bracket b = {.kind = WORDS};
  progress step = GIVES;
  size_t plain = 0; /* characters of text, brackets included that have no meaning */
  while (plain < text.size && plain < PORTION) {
    if (text.at[plain] == '[' && ((step = classify(w, m, plain, &b)) == WAITS || b.kind != WORDS)) break;
    if (text.at[plain] == '[' && b.lacks) note_bracket(w, m, plain, &b);
    ++plain;
  }
  if (plain) put_run(w, m, items, take_input(w, m, plain));
  else if (step == WAITS) return WAITS;
  else if (b.kind == SETTING) apply_setting(w, m, items, &b);
  else take_link(w, m, items, &b);
  return GIVES;
}
