/* From a passage of a text to the words of its sentences. */
#include "text.h"

#include <stdlib.h>


static int is_mark(string phonemes) {
  for (size_t i = 0; i < phonemes.size; ++i)
    if (!is_one_of(phonemes.at[i], ";:,.!?—…\"()“”«»¡¿")) return 0;
  return phonemes.size > 0;
}

static word placed(string text, size_t offset, size_t begin, size_t end, string phonemes, string space) {
  if (begin >= end) return (word){NONE, phonemes, space, begin < text.size ? offset + begin : 0, begin < text.size ? offset + begin : 0};
  return (word){slice(text, begin, end), phonemes, space, offset + begin, offset + end};
}

/* Return the words of an utterance. Tokens of the same characters ("two", "dollars" for "$2") become one word, with the
 * marks between them. */
static words words_of(work *w, const tokens *all, string text, size_t offset) {
  words result = {0};
  size_t begin = 0, end = 0;
  for (size_t i = 0; i < all->count; ++i) {
    const token *t = &all->all[i];
    int alike = t->start == begin && t->end == end;
    if (begin <= t->start && t->start < end && (alike || !is_mark(t->phonemes))) {
      word *last = &result.all[result.count - 1];
      if (t->end > end) end = t->end;
      *last = placed(text, offset, begin, end, join(w, join(w, last->phonemes, last->space), t->phonemes), t->space);
    } else {
      begin = t->start, end = t->end;
      PUSH(w, result, placed(text, offset, begin, end, t->phonemes, t->space));
    }
  }
  return result;
}

static int has_phonemes(const tokens *all) {
  for (size_t i = 0; i < all->count; ++i)
    if (strip_spaces(all->all[i].phonemes).size) return 1;
  return 0;
}

string quote(work *w, string text, size_t most) {
  builder out = {0}, words = {0};
  text = strip_spaces(text);
  for (size_t i = 0; i < text.size && words.count <= most; ++i)
    if (!is_space(text.at[i])) put_char(w, &words, text.at[i]);
    else if (!is_space(text.at[i - 1])) put_char(w, &words, ' ');
  put_char(w, &out, '\'');
  put(w, &out, shorten_text(w, BUILT(words), most));
  put_char(w, &out, '\'');
  return BUILT(out);
}

static int by_code(const void *a, const void *b) {
  int32_t first = *(const int32_t *)a, second = *(const int32_t *)b;
  return first < second ? -1 : first > second;
}

/* Add a notice about signs in a text without letters and digits. */
static void note_signs(work *w, string text, notes *notices) {
  builder signs = {0}, out = {0};
  for (size_t i = 0; i < text.size; ++i) {
    int kind = category(text.at[i]);
    if (kind == CATEGORY('S', 'o') || kind == CATEGORY('S', 'c') || kind == CATEGORY('S', 'k') ||
        kind == CATEGORY('C', 's') || kind == CATEGORY('C', 'o'))
      put_char(w, &signs, text.at[i]);
  }
  if (!signs.count) return;
  qsort(signs.all, signs.count, sizeof *signs.all, by_code);
  put_ascii(w, &out, "Left out, because it has no letter or digit:");
  for (size_t i = 0; i < signs.count; ++i) {
    int32_t c = signs.all[i];
    if (i && c == signs.all[i - 1]) continue;
    put_ascii(w, &out, c < 127 ? format(w->s, w->memory, " '%c'", (int)c)
                               : format(w->s, w->memory, c < 256 ? " '\\x%02x'" : c < 0x10000 ? " '\\u%04x'" : " '\\U%08x'",
                                        (unsigned)c));
  }
  add_notice(w, notices, BUILT(out));
}

static int has_category(string text, int expected) {
  for (size_t i = 0; i < text.size; ++i)
    if (category(text.at[i]) == expected) return 1;
  return 0;
}

utterances read_passage(work *w, const reader *r, const source *from, notes *notices) {
  utterances result = {0};
  source spoken = apply_aliases(w, *from);
  int speakable = is_speakable(w, &spoken);
  if (contains(speakable ? spoken.text : from->text, 0))
    fail(w->s, FAILURE_INPUT, "The text holds a NUL byte, so it is probably not text. Remove it first.");
  if (!speakable) return note_signs(w, from->text, notices), result;
  if (has_category(spoken.text, CATEGORY('C', 's')))
    fail(w->s, FAILURE_INPUT, "The text is not valid UTF-8. Convert it to UTF-8 first.");
  utterances candidate = read_text(w, r, &spoken, notices);
  for (size_t i = 0; i < candidate.count; ++i)
    if (has_phonemes(&candidate.all[i])) PUSH(w, result, candidate.all[i]);
  if (!result.count)
    add_notice(w, notices, join(w, decode_utf8(w, "Left out, because no phonemes came of it: "), quote(w, from->text, MOST_SHOWN)));
  return result;
}

breath_list read_sentences(work *w, const reader *r, string text, size_t offset, boundary ends, notes *notices) {
  breath_list result = {0};
  source own = source_of(w, text);
  utterances candidate = read_passage(w, r, &own, notices);
  for (size_t i = 0; i < candidate.count; ++i) {
    words all = words_of(w, &candidate.all[i], text, offset);
    if (!all.count) continue;
    all.all[all.count - 1].space = NONE;
    PUSH(w, result, (breath){all, SENTENCE, 0});
  }
  if (result.count) result.all[result.count - 1].ends = ends;
  return result;
}
