#include "passages.h"

#include "numbers.h"
#include "paragraphs.h"
#include "patterns.h"

enum { BEFORE = 20 }; /* characters that are searched for an abbreviation */

passages begin_passages(void) { return (passages){.breaks = 2}; }

static void skip_space(passages *of) {
  for (; of->place < of->text.size && is_space(of->text.at[of->place]); ++of->place)
    of->breaks += of->text.at[of->place] == '\n';
}

/* Return whether enough of the text has arrived to recognize a block at a place. */
static int shows_block(const passages *of, string text, size_t place) {
  size_t rest = text.size - place;
  return of->complete || rest >= LOOKAHEAD || (rest && !may_begin_block(text.at[place]));
}

/* Find the block at the beginning of the text; return 0 if more text is needed. */
static int begin_line(work *w, passages *of, string text) {
  size_t mark = 0;
  if (!shows_block(of, text, 0)) return 0;
  block_kind kind = block_at(w, text, 0, of->numbered || of->breaks > 1, &mark);
  of->mark = kind ? mark : 0;
  of->one_line = kind && kind != ITEM && kind != NUMBERED;
  if (kind || of->breaks > 1) of->numbered = kind == NUMBERED;
  of->breaks = 0;
  return 1;
}

static int fits(work *w, int expression, string text) {
  match result;
  return match_at(w, &PATTERNS[expression], text, 0, &result);
}

/* Classify a match of PASSAGES_END: CLAUSE ends nothing. Return WAITS if more text is needed, else GIVES. */
static progress classify(work *w, const passages *of, string text, const match *result, boundary *ends) {
  string whole = slice(text, result->start, result->end), mark = group_of(text, result, PASSAGES_END_MARK);
  size_t ignored, after = result->end;
  match found;
  *ends = END_OF_TEXT;
  if (after == text.size) return GIVES;
  *ends = PARAGRAPH;
  if (contains(whole, '\n')) {
    if (!shows_block(of, text, after)) return WAITS;
    if (of->one_line || block_at(w, text, after, of->numbered, &ignored)) return GIVES;
  }
  while (after < text.size && is_one_of(text.at[after], OPENING) && after < result->end + MAX_OPENING) ++after;
  if (after == text.size && !of->complete) return WAITS;
  string first = slice(text, after, after + 1);
  if (search(w, &PATTERNS[PASSAGES_BLANK_LINE], whole, 0, &found)) return GIVES;
  *ends = CLAUSE;
  if (!has_group(result, PASSAGES_END_MARK)) return GIVES;
  size_t gap = group_of(text, result, PASSAGES_END_GAP).size;
  if (is_one_of(*mark.at, WIDE)) {
    int quoted = after == result->end && !gap && fits(w, PASSAGES_QUOTED_ON, slice(mark, mark.size - 1, mark.size));
    *ends = quoted && fits(w, PASSAGES_HIRAGANA, first) ? CLAUSE : SENTENCE;
    return GIVES;
  }
  if (!gap) {
    if ((*mark.at == '!' || *mark.at == '?') && fits(w, PASSAGES_WITHOUT_SPACES, first)) *ends = SENTENCE;
    return GIVES;
  }
  if (first.size && is_lower(*first.at)) return GIVES;
  string before = slice(text, result->start > BEFORE ? result->start - BEFORE : 0, result->start), abbreviation;
  *ends = SENTENCE;
  if (!is_ascii_text(mark, ".") || !abbreviation_in(w, before, &abbreviation)) return GIVES;
  string following = slice(text, after, after + MAX_WORD);
  if (following.size < MAX_WORD && !of->complete && full_match(w, &PATTERNS[PASSAGES_UNFINISHED], following, &found))
    return WAITS;
  *ends = begins_sentence(w, following, abbreviation) ? SENTENCE : CLAUSE;
  return GIVES;
}

/* Return where to cut a passage without an end: after a clause, else at a space, else anywhere. */
static size_t find_cut(work *w, string text) {
  string window = slice(text, 0, MAX_PASSAGE);
  size_t place = 0;
  match result = {.start = MAX_PASSAGE / 2 - 1, .end = MAX_PASSAGE / 2};
  result.groups[0].start = result.start;
  while (next_match(w, &PATTERNS[PASSAGES_CLAUSE], window, &result)) place = result.end;
  if (place) return place;
  for (size_t i = 0; i < window.size; ++i)
    if (is_space(window.at[i])) place = i + 1;
  return place ? place : MAX_PASSAGE;
}

/* Find length and end of the first passage of the text. */
static progress find_end(work *w, passages *of, string text, size_t *length, boundary *ends) {
  match result = {.end = 0}; /* no match is empty */
  if (of->breaks && !begin_line(w, of, text)) return WAITS;
  while (search(w, &PATTERNS[PASSAGES_END], text, result.end, &result)) {
    if (result.start < of->mark) continue; /* the point of "2. Second" */
    *length = result.start + group_of(text, &result, PASSAGES_END_MARK).size;
    *ends = PARAGRAPH;
    if (result.end - result.start > MAX_GAP) return GIVES;
    if (result.start > MAX_PASSAGE) break;
    if (result.end == text.size && !of->complete) return WAITS;
    if (classify(w, of, text, &result, ends) == WAITS) return WAITS;
    if (*ends != CLAUSE) return GIVES;
  }
  /* Half of a blank line may have arrived: cut only what later text cannot change. */
  *ends = CLAUSE;
  if (text.size > 2 * MAX_PASSAGE || (of->complete && text.size > MAX_PASSAGE)) return *length = find_cut(w, text), GIVES;
  *length = text.size;
  *ends = END_OF_TEXT;
  return of->complete ? GIVES : WAITS;
}

progress next_passage(work *w, passages *of, size_t *start, size_t *end, boundary *ends) {
  size_t length;
  skip_space(of);
  string rest = slice(of->text, of->place, of->text.size);
  if (!rest.size) return of->complete ? ENDS : WAITS;
  if (find_end(w, of, rest, &length, ends) == WAITS) return WAITS;
  *start = of->place;
  *end = *start + strip_spaces_right(slice(rest, 0, length)).size;
  of->place += length;
  of->mark = 0;
  return GIVES;
}
