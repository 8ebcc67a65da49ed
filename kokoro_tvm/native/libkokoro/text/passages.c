#include "passages.h"

#include "paragraphs.h"
#include "patterns.h"

/* Limits in characters: a passage, a gap that ends it, opening marks before a letter, the word after an abbreviation,
 * and the text that is searched for an abbreviation. */
enum { LONGEST = 1500, LONGEST_GAP = 4096, MOST_OPENING = 64, LONGEST_WORD = 32, BEFORE = 20 };

passages passages_of(string text) { return (passages){.text = text, .breaks = 2}; }

static void skip_space(passages *of) {
  for (; of->place < of->text.size && is_space(of->text.at[of->place]); ++of->place)
    of->breaks += of->text.at[of->place] == '\n';
}

static void begin_line(work *w, passages *of) {
  size_t mark = 0;
  block_kind kind = block_at(w, of->text, of->place, of->numbered || of->breaks > 1, &mark);
  of->mark = kind ? mark - of->place : 0;
  of->one_line = kind && kind != ITEM && kind != NUMBERED;
  if (kind || of->breaks > 1) of->numbered = kind == NUMBERED;
  of->breaks = 0;
}

static int fits(work *w, int expression, string text) {
  match result;
  return match_at(w, &PATTERNS[expression], text, 0, &result);
}

/* Return the boundary of a match; CLAUSE if it ends nothing. */
static boundary boundary_of(work *w, const passages *of, string text, const match *result) {
  string whole = slice(text, result->start, result->end), mark = group_of(text, result, PASSAGES_END_MARK);
  size_t ignored, after = result->end;
  match blank;
  if (after == text.size) return END_OF_TEXT;
  if (contains(whole, '\n') && (of->one_line || block_at(w, text, after, of->numbered, &ignored))) return PARAGRAPH;
  while (after < text.size && is_one_of(text.at[after], "\"'“‘«¿¡([{*_「『（《〈【〔") &&
         after < result->end + MOST_OPENING)
    ++after;
  string first = slice(text, after, after + 1);
  if (search(w, &PATTERNS[PASSAGES_BLANK_LINE], whole, 0, &blank)) return PARAGRAPH;
  if (!has_group(result, PASSAGES_END_MARK)) return CLAUSE;
  size_t gap = group_of(text, result, PASSAGES_END_GAP).size;
  if (is_one_of(*mark.at, "。｡！？।॥")) {
    int quoted = after == result->end && !gap && fits(w, PASSAGES_QUOTED_ON, slice(mark, mark.size - 1, mark.size));
    return quoted && fits(w, PASSAGES_HIRAGANA, first) ? CLAUSE : SENTENCE;
  }
  if (!gap)
    return (*mark.at == '!' || *mark.at == '?') && fits(w, PASSAGES_WITHOUT_SPACES, first) ? SENTENCE : CLAUSE;
  if (first.size && is_lower(*first.at)) return CLAUSE;
  string before = slice(text, result->start > BEFORE ? result->start - BEFORE : 0, result->start), abbreviation;
  if (!is_ascii_text(mark, ".") || !abbreviation_in(w, before, &abbreviation)) return SENTENCE;
  return begins_sentence(w, slice(text, after, after + LONGEST_WORD), abbreviation) ? SENTENCE : CLAUSE;
}

/* Return where to cut a passage without an end: after a clause, else at a space, else anywhere. */
static size_t forced_length(work *w, string text) {
  string window = slice(text, 0, LONGEST);
  size_t place = 0;
  match result = {.start = LONGEST / 2 - 1, .end = LONGEST / 2};
  result.groups[0].start = result.start;
  while (next_match(w, &PATTERNS[PASSAGES_CLAUSE], window, &result)) place = result.end;
  if (place) return place;
  for (size_t i = 0; i < window.size; ++i)
    if (is_space(window.at[i])) place = i + 1;
  return place ? place : LONGEST;
}

/* Return the length of the first passage of the remaining text. */
static size_t length_of(work *w, const passages *of, string text, boundary *ends) {
  match result = {.end = 0}; /* no match is empty */
  while (search_until(w, &PATTERNS[PASSAGES_END], text, result.end, LONGEST, &result)) {
    if (result.start < of->mark) continue; /* the point of "2. Second" */
    size_t length = result.start + group_of(text, &result, PASSAGES_END_MARK).size;
    *ends = PARAGRAPH;
    if (result.end - result.start > LONGEST_GAP) return length;
    *ends = boundary_of(w, of, text, &result);
    if (*ends != CLAUSE) return length;
  }
  *ends = CLAUSE;
  if (text.size > LONGEST) return forced_length(w, text);
  *ends = END_OF_TEXT;
  return text.size;
}

int next_passage(work *w, passages *of, size_t *start, size_t *end, boundary *ends) {
  skip_space(of);
  if (of->place == of->text.size) return 0;
  string rest = slice(of->text, of->place, of->text.size);
  if (of->breaks) begin_line(w, of);
  size_t length = length_of(w, of, rest, ends);
  *start = of->place;
  *end = *start + strip_spaces_right(slice(rest, 0, length)).size;
  of->place += length;
  of->mark = 0;
  return 1;
}
