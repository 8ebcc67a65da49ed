/* From sentences to pieces, each as soon as its successor is known. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "numbers.h"
#include "text.h"

static const int64_t ENDLESS = (int64_t)1 << 40; /* frames; keeps a tiny speed from overflowing */
const division USUAL_DIVISION = {DIVISION_FIRST, DIVISION_LEAST, DIVISION_MOST, DIVISION_FIRST_S};
const division UNCUT_DIVISION = {DIVISION_FIRST, DIVISION_LEAST, DIVISION_MOST, INFINITY};

double bound_speed(double speed, double rate) {
  double low = speed < SPEEDS_LOW ? speed : SPEEDS_LOW, high = speed > SPEEDS_HIGH ? speed : SPEEDS_HIGH;
  double result = speed * rate;
  return result < low ? low : result > high ? high : result;
}

int64_t frames_of(scope *s, float duration, double speed) {
  float divisor = (float)speed; /* within float32's range: 0 / 0 is NaN */
  if (!isfinite(duration))
    fail(s, FAILURE_BUNDLE, "The duration component gave a value that is not finite. Build the bundle again.");
  float scaled = nearbyintf(duration / (divisor < FLT_MIN ? FLT_MIN : divisor));
  return scaled < 1 ? 1 : scaled > (float)ENDLESS ? ENDLESS : (int64_t)scaled;
}

/* Let memory of the planner fail into a call. */
static void enter(planner *p, scope *s) { p->w.s = p->lasting.s = p->sections.markup.lasting.s = s; }

void begin_plan(planner *p, scope *s, markup_form form, unsigned omitted) {
  p->attack = -1;
  p->w = WORK(s, &p->memory);
  p->lasting = WORK(s, &p->kept);
  begin_sections(&p->sections);
  p->sections.omissions.kinds = omitted;
  begin_markup(&p->sections.markup, form, p->names, WORK(s, &p->kept));
}

void end_plan(planner *p) {
  end_sections(&p->sections);
  release(&p->memory);
  release(&p->kept);
}

void give_text(planner *p, scope *s, string text, const size_t *places) {
  enter(p, s);
  add_text(&p->sections.markup, s, text, places);
}

void end_text(planner *p) { p->sections.markup.input.complete = 1; }

void give_phonemes(planner *p, scope *s, string phonemes, size_t place) {
  enter(p, s);
  source line = source_of(&p->lasting, join(&p->lasting, phonemes, NONE));
  PUSH(&p->lasting, p->lines, (phoneme_line){line.text, place});
  p->division = (division){(size_t)-1, 0, (size_t)-1, HUGE_VAL}; /* only what does not fit is divided */
}

static string kept(planner *p, string text) { return join(&p->lasting, text, NONE); }

static progress read_lines(planner *p) {
  if (p->has_words) return ENDS;
  p->ready = read_phoneme_lines(&p->w, &p->names, p->lines.all, p->lines.count, &p->notices);
  p->has_words = 1;
  return GIVES;
}

/* Read the next passage into `ready`. */
static progress read_next(planner *p) {
  styled_passage passage;
  breath_list result = {0};
  if (p->lines.count) return read_lines(p);
  progress step = next_sentence(&p->w, &p->sections, &passage);
  p->ready = (breath_list){0};
  p->next = 0;
  if (step != GIVES) return step;
  string text = passage.source.text, voice = voice_of(&passage);
  if (!p->language && any_alnum(text)) p->seen = kept(p, text), p->language = p->names.language(p->names.with, &p->w, voice);
  if (!p->seen.size) p->seen = kept(p, text);
  if (text.size) {
    const reader *r = p->reader_of(p->names.with, p->w.s, p->names.language(p->names.with, &p->w, voice));
    read_sentences(&p->w, r, &passage, &p->notices, &result);
  }
  if (result.count && !p->has_words) {
    p->has_words = 1;
    if (p->lead > 0) PUSH(&p->w, p->ready, (breath){.ends = CLAUSE, .pause = p->lead});
  }
  for (size_t i = 0; i < result.count; ++i) PUSH(&p->w, p->ready, result.all[i]);
  if (!result.count && p->has_words && passage.pause >= 0)
    PUSH(&p->w, p->ready, (breath){.ends = passage.ends, .pause = passage.pause});
  else if (!result.count && passage.pause > 0)
    p->lead += passage.pause;
  return GIVES;
}

static progress next_spoken(planner *p, breath *result) {
  while (p->next == p->ready.count) {
    progress step = read_next(p);
    if (step != GIVES) return step;
  }
  *result = p->ready.all[p->next++];
  return GIVES;
}

static void put_part(planner *p, breath part, int whole) {
  part.whole = whole;
  PUSH(&p->w, p->parts, part);
}

/* Join and divide sentences by length, and push the next breath or its first part on `parts`. */
static progress next_breath(planner *p) {
  breath result;
  progress step;
  while ((step = next_spoken(p, &result)) == GIVES) {
    if (p->holds && result.words.count && !is_same(p->held.voice, result.voice)) {
      --p->next; /* another voice: it waits */
      p->holds = 0;
      p->began = 1;
      return put_part(p, p->held, 0), GIVES;
    }
    if (p->holds) {
      breath held = p->held;
      join_words(&p->w, &held.words, &result.words);
      result.words = held.words;
      result.voice = held.voice;
      p->holds = 0;
    }
    size_t length = symbols_of(&p->w, &result.words).size, clause = 0;
    if (length < p->division.least && result.ends <= SENTENCE && result.pause < 0) {
      p->held = result;
      p->holds = 1;
      continue;
    }
    if (!p->began && length > p->division.first) clause = first_clause(&p->w, &result.words, p->division.least);
    p->began = p->began || result.words.count;
    if (clause) {
      breath first = first_words(&p->w, &result, &result.words, clause);
      words rest = {0};
      for (size_t i = clause; i < result.words.count; ++i) PUSH(&p->w, rest, result.words.all[i]);
      result.words = rest;
      put_part(p, result, 0);
      result = first;
    }
    return put_part(p, result, clause > 0), GIVES;
  }
  if (step == WAITS || !p->holds) return step;
  p->holds = 0;
  return put_part(p, p->held, 1), GIVES;
}

static int is_noted(const planner *p, int32_t symbol) {
  if (is_space(symbol) || is_one_of(symbol, MARKS) || p->names.knows(p->names.with, symbol)) return 1;
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

/* Add a notice for the first word whose rate is beyond the model's limits. */
static void note_rate(planner *p, const words *all) {
  builder out = {0};
  for (size_t i = 0; !p->bounded && i < all->count; ++i) {
    if (bound_speed(p->speed, all->all[i].rate) == p->speed * all->all[i].rate) continue;
    p->bounded = 1;
    put_ascii(&p->w, &out, format(p->w.s, &p->memory, "Rate times speed is beyond what the model can say, %g to %g, and is kept "
                                  "within it from ", SPEEDS_LOW, SPEEDS_HIGH));
    put(&p->w, &out, quote(&p->w, all->all[i].text, MOST_SHOWN));
    put_ascii(&p->w, &out, " on.");
    PUSH(&p->w, p->notices, (notice){.sentence = BUILT(out)});
  }
}

/* Add a notice for every unknown symbol once per text, except marks, which have no sound. */
static void note_unknown(planner *p, const words *all) {
  LIST(unknown) result = {0};
  builder out = {0};
  for (size_t i = 0; i < all->count; ++i)
    for (size_t j = 0; j < all->all[i].phonemes.size; ++j) {
      int32_t symbol = all->all[i].phonemes.at[j];
      if (is_noted(p, symbol)) continue;
      PUSH(&p->lasting, p->noted, symbol);
      PUSH(&p->w, result, (unknown){symbol, all->all[i].text});
    }
  if (!result.count) return;
  qsort(result.all, result.count, sizeof *result.all, by_symbol);
  put_ascii(&p->w, &out, "Left out, because the model does not know them: ");
  for (size_t i = 0; i < result.count; ++i) {
    if (i) put_ascii(&p->w, &out, ", ");
    put_symbol(&p->w, &out, result.all[i].symbol);
    put_ascii(&p->w, &out, " in ");
    put(&p->w, &out, quote(&p->w, result.all[i].text, MOST_SHOWN));
  }
  put_char(&p->w, &out, '.');
  PUSH(&p->w, p->notices, (notice){.sentence = BUILT(out)});
}

static string known(planner *p, string symbols) {
  builder out = {0};
  for (size_t i = 0; i < symbols.size; ++i)
    if (p->names.knows(p->names.with, symbols.at[i])) put_char(&p->w, &out, symbols.at[i]);
  return BUILT(out);
}

/* Make the piece of a breath without durations; 0 if the model knows none of its sounds. */
static int make_draft(planner *p, const breath *of, piece *result) {
  string symbols = symbols_of(&p->w, &of->words);
  int sounds = 0;
  for (size_t i = 0; i < symbols.size && !sounds; ++i)
    sounds = !is_space(symbols.at[i]) && p->names.knows(p->names.with, symbols.at[i]);
  *result = (piece){.keep = {-1, -1}, .noise = p->number};
  if (!sounds) return 0;
  result->symbols = symbols.size;
  result->tokens = 2;
  result->voice = of->voice;
  for (size_t i = 0; i < of->words.count; ++i) {
    word element = of->words.all[i];
    element.phonemes = known(p, element.phonemes);
    element.space = known(p, element.space);
    result->tokens += element.phonemes.size + element.space.size;
    PUSH(&p->w, result->words, element);
  }
  result->last = result->words.count;
  return 1;
}

static int64_t samples_of(const planner *p, double seconds) { return (int64_t)nearbyint(seconds * (double)p->sample_rate); }

/* Compose the silence after a piece of its own quiet end, zeros, and the quiet before the next sound. */
static void set_silence(planner *p, const breath *of, piece *result) {
  int64_t release = samples_of(p, RELEASE), attack = samples_of(p, ATTACK);
  int asked = of->pause >= 0, ends = of->ends == END_OF_TEXT;
  result->keep[0] = p->attack;
  p->attack = 0;
  if (ends && !asked) return;
  const word *last = &of->words.all[of->words.count - 1];
  double seconds = asked ? of->pause : pause_after(&p->pauses, &of->words, of->ends) / bound_speed(p->speed, last->rate);
  int64_t total = samples_of(p, seconds);
  if (total >= release + attack) {
    result->pause = total - release - attack;
  } else {
    release = (int64_t)floor((double)(total * release) / (double)(release + attack));
    attack = total - release;
  }
  result->keep[1] = release;
  if (ends) result->pause += attack;
  else p->attack = attack;
}

/* Set the samples of a piece without words. Before the first sound, the piece of that keeps a part of the silence. */
static void set_pause(planner *p, double seconds, piece *result) {
  int64_t attack = samples_of(p, ATTACK);
  result->pause = samples_of(p, seconds);
  if (p->attack >= 0) return;
  p->attack = result->pause < attack ? result->pause : attack;
  result->pause -= p->attack;
}

NORETURN static void refuse_length(planner *p, const breath *of) {
  string symbols = symbols_of(&p->w, &of->words);
  fail(p->w.s, FAILURE_INPUT,
       "A part of the text exceeds the largest bucket of this bundle (%lld tokens, %lld frames) at speed %g and cannot be "
       "divided, because it has no place to divide it at: '%s' (%zu symbols). Put spaces or punctuation into it, or speak "
       "faster.",
       (long long)p->limits[0], (long long)p->limits[1], p->speed, encode_utf8(&p->w, shorten_text(&p->w, symbols, MOST_SHOWN)), symbols.size);
}

static void divide_part(planner *p, const breath *part) {
  breath before, after;
  if (!halve(&p->w, part, &before, &after)) refuse_length(p, part);
  PUSH(&p->w, p->parts, after);
  PUSH(&p->w, p->parts, before);
}

NORETURN static void refuse_text(planner *p) {
  if (p->has_words) fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: the model knows none of the text's phonemes.");
  if (!p->seen.size)
    fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: the text %s.", p->lead > 0 ? "has pauses alone" : "is empty");
  string shown = quote(&p->w, p->seen, 20);
  if (p->language)
    fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: %s has no phonemes for %s%s. Choose a voice of another language.",
         p->reader_of(p->names.with, p->w.s, p->language)->name, encode_utf8(&p->w, shown),
         encode_utf8(&p->w, format_scripts(&p->w, shown)));
  fail(p->w.s, FAILURE_INPUT, "There is nothing to speak: %s has no letter or digit.", encode_utf8(&p->w, shown));
}

/* Cut the first piece in two if it is long. */
static void cut_piece(planner *p, piece *result) {
  double frames = p->division.first_s * (double)p->sample_rate / (double)p->samples_per_frame;
  size_t place = cut_place(result, frames, p->speed);
  if (!place) return;
  p->has_rest = 1;
  p->rest = *result;
  p->rest.noise = ++p->number;
  p->rest.first = result->last = place;
  p->rest.keep[0] = result->keep[1] = -1;
  result->pause = 0;
}

/* Return whether the draft with its durations fits; else divide it. */
static int take_draft(planner *p, piece *result) {
  int64_t frames = 0;
  for (size_t i = 0; i < p->draft.tokens; ++i) frames += p->draft.durations[i];
  p->asks = 0;
  if (frames > p->limits[1]) return divide_part(p, &p->drafted), 0;
  *result = p->draft;
  set_silence(p, &p->drafted, result);
  if (!p->spoken) cut_piece(p, result);
  p->spoken = 1;
  ++p->number;
  return 1;
}

/* Make a draft of the next part, or a piece of silence. */
static plan_step take_part(planner *p, piece *result) {
  breath part = p->parts.all[--p->parts.count], before, after;
  if (!part.whole && symbols_of(&p->w, &part.words).size > p->division.most && halve(&p->w, &part, &before, &after)) {
    PUSH(&p->w, p->parts, after);
    PUSH(&p->w, p->parts, before);
    return NEEDS_TEXT;
  }
  note_rate(p, &part.words);
  note_unknown(p, &part.words);
  if (make_draft(p, &part, &p->draft)) {
    p->drafted = part;
    p->asks = (int64_t)p->draft.tokens <= p->limits[0];
    if (!p->asks) divide_part(p, &part);
    return NEEDS_TEXT;
  }
  if (part.pause < 0) return NEEDS_TEXT;
  *result = p->draft;
  set_pause(p, part.pause, result);
  ++p->number;
  return PLANNED;
}

static plan_step find_step(planner *p, piece *result) {
  for (;;) {
    if (p->has_rest) return p->has_rest = 0, *result = p->rest, PLANNED;
    if (p->asks && !p->draft.durations) return *result = p->draft, NEEDS_DURATIONS;
    if (p->asks) {
      if (take_draft(p, result)) return PLANNED;
    } else if (p->parts.count) {
      if (take_part(p, result) == PLANNED) return PLANNED;
    } else {
      progress step = next_breath(p);
      if (step == WAITS) return NEEDS_TEXT;
      if (step == ENDS && !p->spoken) refuse_text(p);
      if (step == ENDS) return FINISHED;
    }
  }
}

plan_step next_step(planner *p, scope *s, piece *result) {
  p->notices = (notice_list){0};
  if (p->broken) return FINISHED;
  p->broken = 1; /* until the step succeeds */
  enter(p, s);
  if (!p->asks && !p->has_rest && !p->parts.count && p->next == p->ready.count && !p->holds) { /* everything that was read is used */
    release(&p->memory);
    p->w = WORK(s, &p->memory);
    p->parts = p->ready = (breath_list){0};
    p->next = 0;
  }
  p->sections.markup.noting = &p->w;
  p->sections.markup.notices = &p->notices;
  plan_step step = find_step(p, result);
  p->broken = step == FINISHED;
  return step;
}

void give_durations(planner *p, scope *s, const float *durations) {
  size_t last = p->draft.tokens - 1, token = 1;
  if (!p->asks) return;
  enter(p, s);
  int64_t *frames = room(&p->w, p->draft.tokens, sizeof *frames);
  for (size_t i = 0; i < p->draft.words.count; ++i) {
    const word *element = &p->draft.words.all[i];
    double speed = bound_speed(p->speed, element->rate);
    for (size_t j = element->phonemes.size + element->space.size; j; --j, ++token) frames[token] = frames_of(s, durations[token], speed);
  }
  /* The marks at both ends are silent if they last as long as in training. */
  for (size_t i = 0; i <= last; i += last) {
    int64_t whole = frames_of(s, durations[i], 1);
    frames[i] = frames_of(s, durations[i], p->speed);
    if (frames[i] > whole) frames[i] = whole;
  }
  p->draft.durations = frames;
}
