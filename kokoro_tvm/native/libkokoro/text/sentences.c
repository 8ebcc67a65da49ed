/* From a passage of a text, or from phonemes, to the words of sentences. */
#include "text.h"

#include <stdlib.h>

#include "numbers.h"

static int is_mark(string phonemes) {
  for (size_t i = 0; i < phonemes.size; ++i)
    if (!is_one_of(phonemes.at[i], MARKS)) return 0;
  return phonemes.size > 0;
}

static word placed(const source *from, size_t begin, size_t end, string phonemes, string space) {
  word result = {.phonemes = phonemes, .space = space, .pitch = 1, .rate = 1};
  if (begin < end) {
    result.text = slice(from->text, begin, end);
    span_of(from, begin, end, &result.start, &result.end);
  } else if (begin < from->text.size) {
    result.start = result.end = from->starts[begin];
  }
  return result;
}

/* Return whether no space is between two words. Text without tokens between a word and a mark is markup; between two
 * words ("a/b") it replaces a space. */
static int are_joined(const word *before, string between, const word *next) {
  if (is_spoken(before) && is_spoken(next)) return !between.size;
  for (size_t i = 0; i < between.size; ++i)
    if (is_space(between.at[i])) return 0;
  return 1;
}

/* Return the words of an utterance. Tokens of the same characters ("two", "dollars" for "$2") become one word, with the
 * marks between them. styles: of every character, or NULL. */
static words words_of(work *w, const tokens *all, const source *from, const speaking_style *const *styles) {
  words result = {0};
  size_t begin = 0, end = 0;
  for (size_t i = 0; i < all->count; ++i) {
    const token *t = &all->all[i];
    int alike = t->start == begin && t->end == end;
    if (begin <= t->start && t->start < end && (alike || !is_mark(t->phonemes))) {
      word *last = &result.all[result.count - 1], whole;
      if (t->end > end) end = t->end;
      whole = placed(from, begin, end, join(w, join(w, last->phonemes, last->space), t->phonemes), t->space);
      whole.rate = last->rate, whole.pitch = last->pitch;
      *last = whole;
      continue;
    }
    size_t done = end;
    begin = t->start, end = t->end;
    word next = placed(from, begin, end, t->phonemes, t->space);
    if (styles && begin < from->text.size) next.rate = styles[begin]->rate, next.pitch = styles[begin]->pitch;
    if (result.count) next.joined = are_joined(&result.all[result.count - 1], slice(from->text, done, begin), &next);
    PUSH(w, result, next);
  }
  return result;
}

static int has_phonemes(const tokens *all) {
  for (size_t i = 0; i < all->count; ++i)
    if (strip_spaces(all->all[i].phonemes).size) return 1;
  return 0;
}

static int by_code(const void *a, const void *b) {
  int32_t first = *(const int32_t *)a, second = *(const int32_t *)b;
  return first < second ? -1 : first > second;
}

/* Add a notice about signs in a text without letters and digits. */
static void note_signs(work *w, string text, notice_list *notices) {
  builder signs = {0}, out = {0};
  strings words = {0};
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
    PUSH(w, words, slice(BUILT(signs), i, i + 1));
    put_ascii(w, &out, c < 127 ? format(w->s, w->memory, " '%c'", (int)c)
                               : format(w->s, w->memory, c < 256 ? " '\\x%02x'" : c < 0x10000 ? " '\\u%04x'" : " '\\U%08x'",
                                        (unsigned)c));
  }
  PUSH(w, *notices, (notice){BUILT(out), words});
}

static int has_category(string text, int expected) {
  for (size_t i = 0; i < text.size; ++i)
    if (category(text.at[i]) == expected) return 1;
  return 0;
}

utterances read_passage(work *w, const reader *r, const source *from, notice_list *notices) {
  utterances result = {0};
  notice_list own = {0};
  source spoken = apply_aliases(w, *from);
  int speakable = is_speakable(w, &spoken);
  if (contains(speakable ? spoken.text : from->text, 0))
    fail(w->s, FAILURE_INPUT, "The text holds a NUL byte, so it is probably not text. Remove it first.");
  if (!speakable) return note_signs(w, from->text, notices), result;
  if (has_category(spoken.text, CATEGORY('C', 's')))
    fail(w->s, FAILURE_INPUT, "The text is not valid UTF-8. Convert it to UTF-8 first.");
  utterances candidate = read_text(w, r, &spoken, &own);
  for (size_t i = 0; i < own.count; ++i) PUSH(w, *notices, own.all[i]);
  for (size_t i = 0; i < candidate.count; ++i)
    if (has_phonemes(&candidate.all[i])) PUSH(w, result, candidate.all[i]);
  if (!result.count) {
    notice lost = {.sentence = join(w, decode_utf8(w, "Left out, because no phonemes came of it: "), quote(w, from->text, MOST_SHOWN))};
    PUSH(w, lost.words, strip_spaces(from->text));
    PUSH(w, *notices, lost);
  }
  return result;
}

int read_sentences(work *w, const reader *r, const styled_passage *passage, notice_list *notices, breath_list *into) {
  size_t first = into->count;
  source detached = source_of(w, join(w, passage->source.text, NONE)); /* the passage itself does not live long */
  source kept = detached;
  detached.links = passage->source.links;
  detached.marked = passage->source.marked;
  utterances candidate = read_passage(w, r, &detached, notices);
  kept.starts = passage->source.starts;
  kept.ends = passage->source.ends;
  for (size_t i = 0; i < candidate.count; ++i) {
    words all = words_of(w, &candidate.all[i], &kept, passage->styles);
    if (!all.count) continue;
    all.all[0].joined = into->count == first && passage->joined;
    all.all[all.count - 1].space = NONE;
    PUSH(w, *into, (breath){.words = all, .ends = SENTENCE, .pause = -1, .voice = voice_of(passage)});
  }
  if (into->count == first) return 0;
  breath *last = &into->all[into->count - 1];
  last->ends = passage->ends;
  last->pause = passage->pause;
  return 1;
}

/* Return phonemes with tabs and line breaks as spaces. */
static source clean_phonemes(work *w, const phoneme_line *from) {
  string text = from->phonemes;
  builder out = {0};
  if (contains(text, 0)) fail(w->s, FAILURE_INPUT, "The phonemes hold a NUL byte. Remove it: it stands for no sound.");
  if (!strip_spaces(text).size) fail(w->s, FAILURE_INPUT, "There is nothing to speak: the phonemes are empty.");
  for (size_t i = 0; i < text.size; ++i) {
    int is_break = text.at[i] >= '\t' && text.at[i] <= '\r';
    if (!is_break) put_char(w, &out, text.at[i]);
    else if (!i || text.at[i - 1] < '\t' || text.at[i - 1] > '\r') put_char(w, &out, ' ');
  }
  size_t *places = room(w, out.count + 1, sizeof *places);
  for (size_t i = 0; i <= out.count; ++i) places[i] = from->place + i;
  return (source){.text = BUILT(out), .starts = places, .ends = places + 1};
}

static int has_sound(const vocabulary *names, string phonemes) {
  for (size_t i = 0; i < phonemes.size; ++i)
    if (!is_space(phonemes.at[i]) && names->knows(names->with, phonemes.at[i])) return 1;
  return 0;
}

/* Divide phonemes into words and marks. A space belongs to the token before it. */
static tokens tokens_of(work *w, string phonemes) {
  tokens result = {0};
  size_t place = 0;
  while (place < phonemes.size && is_space(phonemes.at[place])) ++place;
  if (place) PUSH(w, result, (token){.space = slice(phonemes, 0, place)});
  while (place < phonemes.size) {
    size_t start = place, end;
    int mark = is_one_of(phonemes.at[place], MARKS);
    while (place < phonemes.size && !is_space(phonemes.at[place]) && !!is_one_of(phonemes.at[place], MARKS) == mark) ++place;
    for (end = place; place < phonemes.size && is_space(phonemes.at[place]);) ++place;
    string text = slice(phonemes, start, end);
    PUSH(w, result, (token){.text = text, .phonemes = text, .space = slice(phonemes, end, place), .start = start, .end = end,
                            .origin = FROM_GIVEN});
  }
  return result;
}

breath_list read_phoneme_lines(work *w, const vocabulary *names, const phoneme_line *all, size_t count, notice_list *notices) {
  breath_list result = {0};
  source *texts = room(w, count, sizeof *texts);
  builder unknown = {0};
  size_t last = count;
  for (size_t i = 0; i < count; ++i) {
    texts[i] = clean_phonemes(w, &all[i]);
    if (has_sound(names, texts[i].text)) last = i;
  }
  for (size_t i = 0; last == count && i < count; ++i)
    for (size_t j = 0; j < texts[i].text.size; ++j)
      if (!is_space(texts[i].text.at[j])) put_char(w, &unknown, texts[i].text.at[j]);
  if (last == count)
    fail(w->s, FAILURE_INPUT, "There is nothing to speak: the model knows none of the phonemes (%s).",
         encode_utf8(w, list_symbols(w, BUILT(unknown))));
  for (size_t i = 0; i < count; ++i) {
    if (!has_sound(names, texts[i].text)) {
      string begin = decode_utf8(w, "Left out, because the model knows none of its symbols: ");
      PUSH(w, *notices, (notice){.sentence = join(w, begin, quote(w, texts[i].text, MOST_SHOWN))});
      continue;
    }
    tokens parts = tokens_of(w, texts[i].text);
    words found = words_of(w, &parts, &texts[i], NULL);
    PUSH(w, result, (breath){.words = found, .ends = i == last ? END_OF_TEXT : PARAGRAPH, .pause = -1});
  }
  return result;
}
