/* Division of an utterance near its middle: at clauses, else at spaces. */
#include "patterns.h"
#include "text.h"

enum { BOUNDARIES = 5 };
static const string SPACE = {(const int32_t[]){' '}, 1};

string symbols_of(work *w, const words *all) {
  builder out = {0};
  for (size_t i = 0; i < all->count; ++i) {
    put(w, &out, all->all[i].phonemes);
    put(w, &out, all->all[i].space);
  }
  return BUILT(out);
}

int is_spoken(const word *element) {
  for (size_t i = 0; i < element->phonemes.size; ++i)
    if (is_alpha(element->phonemes.at[i])) return 1;
  return 0;
}

/* Return the place nearest to the middle at the best kind of boundary with a sound on both sides, or 0. */
static size_t middle_cut(work *w, string symbols) {
  size_t first = 0, last = symbols.size, best = 0;
  while (first < symbols.size && !is_alpha(symbols.at[first])) ++first;
  if (first == symbols.size) return 0;
  while (!is_alpha(symbols.at[last - 1])) --last;
  for (int kind = 0; kind < BOUNDARIES && !best; ++kind)
    for (match result = FIRST_MATCH; next_match(w, &PATTERNS[PHONEMES_BOUNDARIES + kind], symbols, &result);) {
      size_t twice = 2 * result.end, off = twice > symbols.size ? twice - symbols.size : symbols.size - twice;
      size_t of_best = 2 * best > symbols.size ? 2 * best - symbols.size : symbols.size - 2 * best;
      if (first < result.end && result.end < last && (!best || off < of_best)) best = result.end;
    }
  return best;
}

breath first_words(work *w, const breath *whole, const words *all, size_t count) {
  breath result = {.ends = CLAUSE, .whole = whole->whole, .pause = -1, .voice = whole->voice};
  for (size_t i = 0; i < count; ++i) PUSH(w, result.words, all->all[i]);
  result.words.all[count - 1].space.size = 0;
  return result;
}

int halve(work *w, const breath *whole, breath *before, breath *after) {
  size_t cut = middle_cut(w, symbols_of(w, &whole->words)), place = 0;
  words left = {0}, right = {0};
  if (!cut) return 0;
  for (size_t i = 0; i < whole->words.count; ++i) {
    word element = whole->words.all[i];
    size_t end = place + element.phonemes.size + element.space.size;
    if (end <= cut) {
      PUSH(w, left, element);
    } else if (place >= cut) {
      PUSH(w, right, element);
    } else { /* a word of several words, such as a number */
      string begin = slice(element.phonemes, 0, cut - place);
      word part = element;
      part.phonemes = strip_spaces_right(begin);
      part.space = slice(begin, part.phonemes.size, begin.size);
      PUSH(w, left, part);
      element.phonemes = slice(element.phonemes, cut - place, element.phonemes.size);
      PUSH(w, right, element);
    }
    place = end;
  }
  *before = first_words(w, whole, &left, left.count);
  *after = *whole;
  after->words = right;
  return 1;
}

static int ends_clause(const word *element) {
  if (is_spoken(element) || !element->space.size) return 0;
  for (size_t i = 0; i < element->phonemes.size; ++i)
    if (is_one_of(element->phonemes.at[i], ",;:—.!?…")) return 1;
  return 0;
}

size_t first_clause(work *w, const words *all, size_t least) {
  size_t length = 0, total = symbols_of(w, all).size;
  for (size_t i = 0; i < all->count; ++i) {
    length += all->all[i].phonemes.size + all->all[i].space.size;
    if (ends_clause(&all->all[i]) && length >= least && total - length >= least) return i + 1;
  }
  return 0;
}

void join_words(work *w, words *first, const words *more) {
  if (!more->count) return;
  word *last = &first->all[first->count - 1];
  if (!last->space.size) last->space = SPACE;
  for (size_t i = 0; i < more->count; ++i) PUSH(w, *first, more->all[i]);
}
