/* From sentences to pieces, one after the other, each as soon as it is known what follows. */
#include <math.h>
#include <stdlib.h>

#include "text.h"

/* Symbols, as Division has them: a first piece that is longer ends at the first clause; what is shorter is joined with what
 * follows; what is longer is divided. */
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

static int next_sentence(planner *p, breath *found) {
  size_t start, end;
  boundary ends;
  while (p->next == p->ready.count) {
    if (!next_passage(&p->w, &p->passages, &start, &end, &ends)) return 0;
    string text = slice(p->passages.text, start, end);
    if (!p->seen.size || (!any_alnum(p->seen) && any_alnum(text))) p->seen = text;
    p->ready = read_sentences(&p->w, p->reader, text, start, ends, &p->notices);
    p->next = 0;
  }
  *found = p->ready.all[p->next++];
  p->read = 1;
  return 1;
}

/* Sentences joined and divided by length: the next, or its first part, is put on the pile of parts. 0: there is none. */
static int next_breath(planner *p) {
  breath found;
  while (next_sentence(p, &found)) {
    if (p->holds) {
      breath held = p->held;
      join_words(&p->w, &held.words, &found.words);
      found.words = held.words;
      p->holds = 0;
    }
    size_t length = symbols_of(&p->w, &found.words).size, clause = 0;
    if (length < LEAST && (found.ends == SENTENCE || found.ends == CLAUSE)) {
      p->held = found;
      p->holds = 1;
      continue;
    }
    if (!p->began && length > FIRST) clause = first_clause(&p->w, &found.words, LEAST);
    p->began = 1;
    if (clause) {
      words rest = {0};
      for (size_t i = clause; i < found.words.count; ++i) PUSH(&p->w, rest, found.words.all[i]);
      PUSH(&p->w, p->parts, (breath){rest, found.ends, 0});
      found = first_words(&p->w, &found.words, clause);
      found.whole = 1;
    }
    PUSH(&p->w, p->parts, found);
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

typedef struct unknown { /* a symbol that the model does not know, and the word it is in */
  int32_t symbol;
  string text;
} unknown;

static int by_symbol(const void *a, const void *b) {
  int32_t first = ((const unknown *)a)->symbol, second = ((const unknown *)b)->symbol;
  return first < second ? -1 : first > second;
}

/* Names every symbol that the model does not know once in a text, but for marks, which have no sound. */
static void note_unknown(planner *p, const words *all) {
  LIST(unknown) found = {0};
  work lasting = WORK(p->w.s, &p->lasting);
  builder out = {0};
  for (size_t i = 0; i < all->count; ++i)
    for (size_t j = 0; j < all->all[i].phonemes.size; ++j) {
      int32_t symbol = all->all[i].phonemes.at[j];
      if (is_noted(p, symbol)) continue;
      PUSH(&lasting, p->noted, symbol);
      PUSH(&p->w, found, (unknown){symbol, all->all[i].text});
    }
  if (!found.count) return;
  qsort(found.all, found.count, sizeof *found.all, by_symbol);
  put_ascii(&p->w, &out, "Left out, because the model does not know them: ");
  for (size_t i = 0; i < found.count; ++i) {
    if (i) put_ascii(&p->w, &out, ", ");
    put_char(&p->w, &out, '\'');
    put_char(&p->w, &out, found.all[i].symbol);
    put_ascii(&p->w, &out, format(p->w.s, &p->memory, "' (U+%04X) in ", (unsigned)found.all[i].symbol));
    put(&p->w, &out, quoted(&p->w, found.all[i].text, MOST_SHOWN));
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

/* The piece of a breath, without durations; 0: the model knows no sound of it. */
static int draft(planner *p, const breath *of, piece *made) {
  string symbols = symbols_of(&p->w, &of->words);
  int sounds = 0;
  for (size_t i = 0; i < symbols.size && !sounds; ++i)
    sounds = !is_space(symbols.at[i]) && p->knows(p->with, symbols.at[i]);
  if (!sounds) return 0;
  *made = (piece){.symbols = symbols.size, .tokens = 2, .noise = p->number};
  for (size_t i = 0; i < of->words.count; ++i) {
    word each = of->words.all[i];
    each.phonemes = known(p, each.phonemes);
    each.space = known(p, each.space);
    made->tokens += each.phonemes.size + each.space.size;
    PUSH(&p->w, made->words, each);
  }
  return 1;
}

/* Seconds of silence between words and what follows them, at speed 1: Pauses of runtime/speech/joins.py. */
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

/* How the silence behind a piece is made: of its own near silence, of nothing, and of what is before the next sound. */
static void set_silence(planner *p, const breath *of, piece *made) {
  int64_t release = (int64_t)nearbyint(0.050 * (double)p->sample_rate);
  int64_t attack = (int64_t)nearbyint(0.150 * (double)p->sample_rate);
  made->keep[0] = p->attack;
  made->keep[1] = -1;
  p->attack = 0;
  if (of->ends == END_OF_TEXT) return;
  int64_t total = (int64_t)nearbyint(pause_after(&of->words, of->ends) / p->speed * (double)p->sample_rate);
  if (total >= release + attack) {
    made->pause = total - release - attack;
  } else {
    release = (int64_t)floor((double)(total * release) / (double)(release + attack));
    attack = total - release;
  }
  made->keep[1] = release;
  p->attack = attack;
}

NORETURN static void refuse_length(planner *p, const breath *of) {
  string symbols = symbols_of(&p->w, &of->words);
  fail(p->w.s, FAILURE_INPUT,
       "A part of the text exceeds the largest bucket of this bundle (%lld tokens, %lld frames) at speed %g and cannot be "
       "divided, because it has no place to divide it at: '%s' (%zu symbols). Put spaces or punctuation into it, or speak "
       "faster.",
       (long long)p->limits[0], (long long)p->limits[1], p->speed, encoded(&p->w, truncated(&p->w, symbols, MOST_SHOWN)), symbols.size);
}

NORETURN static void refuse_text(planner *p) {
  if (p->read) fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: the model knows none of the text's phonemes.");
  if (!p->seen.size) fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: the text is empty.");
  string shown = quoted(&p->w, p->seen, 20);
  if (any_alnum(p->seen))
    fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: %s has no phonemes for %s%s. Choose a voice of another language.",
         p->reader->name, encoded(&p->w, shown), encoded(&p->w, in_script(&p->w, shown)));
  fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: %s has no letter or digit.", encoded(&p->w, shown));
}

int next_piece(planner *p, scope *s, piece *found) {
  p->w.s = s;
  p->notices = (notes){0};
  if (!p->parts.count && p->next == p->ready.count && !p->holds) { /* nothing is left of what was read */
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
    if (!draft(p, &part, found)) continue;
    if (p->predict(p->with, &p->w, found)) {
      set_silence(p, &part, found);
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
