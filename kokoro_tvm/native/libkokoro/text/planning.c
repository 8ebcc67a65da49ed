/* From sentences to pieces, each as soon as its successor is known. */
#include <math.h>
#include <stdlib.h>

#include "text.h"

/* Symbols, see Division: FIRST ends a longer first piece at its first clause, LEAST joins shorter pieces with the next,
 * MOST divides longer ones. */
enum { FIRST = 60, LEAST = 20, MOST = 300 };

void begin_plan(planner *p, scope *s, string text) {
  p->passages = passages_of(text);
  p->attack = -1;
  p->w = WORK(s, &p->memory);
}

void end_plan(planner *p) {
  release(&p->memory);
  release(&p->lasting);
}

static int next_sentence(planner *p, breath *result) {
  size_t start, end;
  boundary ends;
  while (p->next == p->ready.count) {
    if (!next_passage(&p->w, &p->passages, &start, &end, &ends)) return 0;
    string text = slice(p->passages.text, start, end);
    if (!p->seen.size || (!any_alnum(p->seen) && any_alnum(text))) p->seen = text;
    p->ready = read_sentences(&p->w, p->reader, text, start, ends, &p->notices);
    p->next = 0;
  }
  *result = p->ready.all[p->next++];
  p->read = 1;
  return 1;
}

/* Join and divide sentences by length, and push the next breath or its first part on `parts`. 0: the end. */
static int next_breath(planner *p) {
  breath result;
  while (next_sentence(p, &result)) {
    if (p->holds) {
      breath held = p->held;
      join_words(&p->w, &held.words, &result.words);
      result.words = held.words;
      p->holds = 0;
    }
    size_t length = symbols_of(&p->w, &result.words).size, clause = 0;
    if (length < LEAST && (result.ends == SENTENCE || result.ends == CLAUSE)) {
      p->held = result;
      p->holds = 1;
      continue;
    }
    if (!p->began && length > FIRST) clause = first_clause(&p->w, &result.words, LEAST);
    p->began = 1;
    if (clause) {
      words rest = {0};
      for (size_t i = clause; i < result.words.count; ++i) PUSH(&p->w, rest, result.words.all[i]);
      PUSH(&p->w, p->parts, (breath){rest, result.ends, 0});
      result = first_words(&p->w, &result.words, clause);
      result.whole = 1;
    }
    PUSH(&p->w, p->parts, result);
    return 1;
  }
  if (!p->holds) return 0;
  p->holds = 0;
  p->held.whole = 1;
  PUSH(&p->w, p->parts, p->held);
  return 1;
}

static int is_noted(const planner *p, int32_t symbol) {
  if (is_space(symbol) || is_one_of(symbol, ";:,.!?—…\"()“”«»¡¿") || p->knows(p->with, symbol)) return 1;
  for (size_t i = 0; i < p->noted.count; ++i)
    if (p->noted.all[i] == symbol) return 1;
  return 0;
}

typedef struct unknown { /* a symbol that the model lacks, and its word */
  int32_t symbol;
  string text;
} unknown;

static int by_symbol(const void *a, const void *b) {
  int32_t first = ((const unknown *)a)->symbol, second = ((const unknown *)b)->symbol;
  return first < second ? -1 : first > second;
}

/* Add a notice for every unknown symbol once per text, except marks, which have no sound. */
static void note_unknown(planner *p, const words *all) {
  LIST(unknown) result = {0};
  work lasting = WORK(p->w.s, &p->lasting);
  builder out = {0};
  for (size_t i = 0; i < all->count; ++i)
    for (size_t j = 0; j < all->all[i].phonemes.size; ++j) {
      int32_t symbol = all->all[i].phonemes.at[j];
      if (is_noted(p, symbol)) continue;
      PUSH(&lasting, p->noted, symbol);
      PUSH(&p->w, result, (unknown){symbol, all->all[i].text});
    }
  if (!result.count) return;
  qsort(result.all, result.count, sizeof *result.all, by_symbol);
  put_ascii(&p->w, &out, "Left out, because the model does not know them: ");
  for (size_t i = 0; i < result.count; ++i) {
    if (i) put_ascii(&p->w, &out, ", ");
    put_char(&p->w, &out, '\'');
    put_char(&p->w, &out, result.all[i].symbol);
    put_ascii(&p->w, &out, format(p->w.s, &p->memory, "' (U+%04X) in ", (unsigned)result.all[i].symbol));
    put(&p->w, &out, quote(&p->w, result.all[i].text, MOST_SHOWN));
  }
  put_char(&p->w, &out, '.');
  add_notice(&p->w, &p->notices, BUILT(out));
}

static string known(planner *p, string symbols) {
  builder out = {0};
  for (size_t i = 0; i < symbols.size; ++i)
    if (p->knows(p->with, symbols.at[i])) put_char(&p->w, &out, symbols.at[i]);
  return BUILT(out);
}

/* Make the piece of a breath without durations; 0 if the model knows none of its sounds. */
static int draft(planner *p, const breath *of, piece *result) {
  string symbols = symbols_of(&p->w, &of->words);
  int sounds = 0;
  for (size_t i = 0; i < symbols.size && !sounds; ++i)
    sounds = !is_space(symbols.at[i]) && p->knows(p->with, symbols.at[i]);
  if (!sounds) return 0;
  *result = (piece){.symbols = symbols.size, .tokens = 2, .noise = p->number};
  for (size_t i = 0; i < of->words.count; ++i) {
    word element = of->words.all[i];
    element.phonemes = known(p, element.phonemes);
    element.space = known(p, element.space);
    result->tokens += element.phonemes.size + element.space.size;
    PUSH(&p->w, result->words, element);
  }
  return 1;
}

/* Return the seconds of silence after words at speed 1: Pauses of runtime/speech/joins.py. */
static double pause_after(const words *all, boundary ends) {
  int dots = 0, sentence = 0, semicolon = 0, comma = 0, ellipsis = 0;
  if (ends == PARAGRAPH) return 0.8;
  size_t first = all->count;
  while (first && !is_spoken(&all->all[first - 1])) --first;
  for (size_t i = first; i < all->count; ++i)
    for (size_t j = 0; j < all->all[i].phonemes.size; ++j) {
      int32_t c = all->all[i].phonemes.at[j];
      dots = c == '.' ? dots + 1 : 0;
      ellipsis |= c == 0x2026 || dots == 3;
      sentence |= is_one_of(c, ".!?");
      semicolon |= is_one_of(c, ";:—");
      comma |= c == ',';
    }
  if (ellipsis) return 0.6;
  if (sentence || semicolon || comma) return sentence ? 0.4 : semicolon ? 0.3 : 0.2;
  return ends == SENTENCE ? 0.4 : 0.05;
}

/* Compose the silence after a piece of its own quiet end, zeros, and the quiet before the next sound. */
static void set_silence(planner *p, const breath *of, piece *result) {
  int64_t release = (int64_t)nearbyint(0.050 * (double)p->sample_rate);
  int64_t attack = (int64_t)nearbyint(0.150 * (double)p->sample_rate);
  result->keep[0] = p->attack;
  result->keep[1] = -1;
  p->attack = 0;
  if (of->ends == END_OF_TEXT) return;
  int64_t total = (int64_t)nearbyint(pause_after(&of->words, of->ends) / p->speed * (double)p->sample_rate);
  if (total >= release + attack) {
    result->pause = total - release - attack;
  } else {
    release = (int64_t)floor((double)(total * release) / (double)(release + attack));
    attack = total - release;
  }
  result->keep[1] = release;
  p->attack = attack;
}

NORETURN static void refuse_length(planner *p, const breath *of) {
  string symbols = symbols_of(&p->w, &of->words);
  fail(p->w.s, FAILURE_INPUT,
       "A part of the text exceeds the largest bucket of this bundle (%lld tokens, %lld frames) at speed %g and cannot be "
       "divided, because it has no place to divide it at: '%s' (%zu symbols). Put spaces or punctuation into it, or speak "
       "faster.",
       (long long)p->limits[0], (long long)p->limits[1], p->speed, encode_utf8(&p->w, shorten_text(&p->w, symbols, MOST_SHOWN)), symbols.size);
}

NORETURN static void refuse_text(planner *p) {
  if (p->read) fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: the model knows none of the text's phonemes.");
  if (!p->seen.size) fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: the text is empty.");
  string shown = quote(&p->w, p->seen, 20);
  if (any_alnum(p->seen))
    fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: %s has no phonemes for %s%s. Choose a voice of another language.",
         p->reader->name, encode_utf8(&p->w, shown), encode_utf8(&p->w, format_scripts(&p->w, shown)));
  fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: %s has no letter or digit.", encode_utf8(&p->w, shown));
}

int next_piece(planner *p, scope *s, piece *result) {
  p->w.s = s;
  p->notices = (notes){0};
  if (!p->parts.count && p->next == p->ready.count && !p->holds) { /* everything that was read is used */
    release(&p->memory);
    p->w = WORK(s, &p->memory);
    p->parts = p->ready = (breath_list){0};
    p->next = 0;
  }
  while (p->parts.count || next_breath(p)) {
    breath part = p->parts.all[--p->parts.count], before, after;
    if (!part.whole && symbols_of(&p->w, &part.words).size > MOST && halve(&p->w, &part, &before, &after)) {
      PUSH(&p->w, p->parts, after);
      PUSH(&p->w, p->parts, before);
      continue;
    }
    note_unknown(p, &part.words);
    if (!draft(p, &part, result)) continue;
    if (p->predict(p->with, &p->w, result)) {
      set_silence(p, &part, result);
      p->spoken = 1;
      ++p->number;
      return 1;
    }
    if (!halve(&p->w, &part, &before, &after)) refuse_length(p, &part);
    PUSH(&p->w, p->parts, after);
    PUSH(&p->w, p->parts, before);
  }
  if (!p->spoken) refuse_text(p);
  return 0;
}
