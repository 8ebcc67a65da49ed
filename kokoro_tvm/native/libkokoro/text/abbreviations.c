/* Decides whether the point of an abbreviation also ends a sentence. */
#include "abbreviations.h"

#include "passages.h"
#include "patterns.h"

static int is_in(const char *const *list, string word) {
  for (; *list; ++list) {
    const char *at = *list;
    size_t i = 0;
    while (i < word.size && *at && next_symbol(&at) == word.at[i]) ++i;
    if (i == word.size && !*at) return 1;
  }
  return 0;
}

int abbreviation_in(work *w, string before, string *result) {
  match last;
  if (!search(w, &PATTERNS[ABBREVIATIONS_LAST_WORD], before, 0, &last)) return 0;
  string word = slice(before, last.start, last.end);
  size_t points = 0, longest = 0, letters = 0;
  for (size_t i = 0; i < word.size; ++i) {
    letters = word.at[i] == '.' ? 0 : letters + 1;
    points += word.at[i] == '.';
    if (letters > longest) longest = letters;
  }
  int dotted = points && longest == 1;
  int initial = word.size == 1 && is_upper(*word.at) && *word.at != 'I';
  *result = lower(w, word);
  return dotted || initial || is_in(TITLES, *result) || is_in(OTHERS, *result);
}

int begins_sentence(work *w, string after, string abbreviation) {
  match result;
  if (!match_at(w, &PATTERNS[ABBREVIATIONS_NEXT_WORD], after, 0, &result)) return 0;
  string word = group_of(after, &result, 1);
  if (is_in(TITLES, abbreviation) || !is_upper(*word.at)) return 0;
  builder plain = {0};
  for (size_t i = 0; i < word.size; ++i) put_char(w, &plain, word.at[i] == 0x2019 ? '\'' : word.at[i]);
  word = BUILT(plain);
  int hour = is_ascii_text(abbreviation, "a.m") || is_ascii_text(abbreviation, "p.m");
  if (is_ascii_text(abbreviation, "etc") || (hour && !is_same(word, upper(w, word)))) return !is_in(DATES, lower(w, word));
  return is_same(word, capitalize(w, word)) && is_in(BEGINNINGS, lower(w, word));
}
