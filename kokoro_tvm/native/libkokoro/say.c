/* Text to speech: a plan reads a text and predicts one piece after the other. */
#include <stdlib.h>
#include <string.h>

#include "library.h"

struct kokoro_plan {
  kokoro *k;
  planner planner;
  arena kept;
  char *voice, *notice, *first_notice; /* notice: of the last call, in `kept_notice` */
  arena kept_notice;
  const size_t *bytes; /* byte offset of every character, and of the end */
  utterance *u;        /* of the current piece */
  double speed;
};

/* Decode the text to code points, and record their byte offsets. */
static string read_characters(scope *s, kokoro_plan *p, const char *text) {
  size_t room = strlen(text), count = 0;
  int32_t *characters = take(s, s->kept, room + 1, sizeof *characters);
  size_t *bytes = take(s, s->kept, room + 1, sizeof *bytes);
  for (const char *at = text; *at; ++count) {
    bytes[count] = (size_t)(at - text);
    if ((characters[count] = next_symbol(&at)) < 0)
      fail(s, KOKORO_INPUT, "The text is no UTF-8: byte %zu is no part of a character. Convert it to UTF-8 first.",
           bytes[count] + 1);
  }
  bytes[count] = room;
  p->bytes = bytes;
  return (string){characters, count};
}

/* Return the reader of a language by its letter, or NULL. The bundle keeps readers after their first use. */
static const reader *get_reader(scope *s, kokoro *k, char letter, const reader *american) {
  const char *result = strchr(READ_LANGUAGES, letter);
  if (!result) return NULL;
  const reader **place = &k->readers[result - READ_LANGUAGES];
  arena *kept = s->kept;
  s->kept = &k->kept;
  if (!*place) *place = open_reader(s, &k->front_end, letter, american);
  s->kept = kept;
  return *place;
}

static const reader *reader_of(scope *s, kokoro *k, const spoken_language *spoken, const char *voice) {
  int english = spoken->letter == 'a' || spoken->letter == 'b';
  const reader *result = NULL;
  if (!k->front_end.count)
    fail(s, KOKORO_INPUT, "%s has no front end, so that it speaks phonemes alone. Build it with `front_end`.", k->bundle->root);
  if (!spoken->espeak)
    result = get_reader(s, k, spoken->letter, english ? NULL : get_reader(s, k, 'a', NULL));
  if (!result)
    fail(s, KOKORO_INPUT, "libkokoro reads no %s text, and %s speaks %s. Give phonemes, or another voice.", spoken->name, voice,
         spoken->name);
  return result;
}

static int has_symbol(void *with, int32_t symbol) { return id_of(((kokoro_plan *)with)->k, symbol) >= 0; }

static string kept_string(scope *s, utterance *u, string text) {
  int32_t *copy = take(s, &u->kept, text.size, sizeof *copy);
  if (text.size) memcpy(copy, text.at, text.size * sizeof *copy);
  return (string){copy, text.size};
}

/* Copy the words and tokens of a piece into the utterance. */
static void set_words(scope *s, kokoro_plan *p, work *w, const piece *from) {
  utterance *u = p->u;
  size_t count = from->words.count, token = 1;
  kokoro_place *places = take(s, &u->kept, count, sizeof *places);
  u->words = take(s, &u->kept, count, sizeof *u->words);
  u->measures = take(s, &u->kept, count, sizeof *u->measures);
  u->tokens = take(s, &u->kept, from->tokens, sizeof *u->tokens);
  for (size_t i = 0; i < count; ++i) {
    const word *element = &from->words.all[i];
    u->words[i].text = format(s, &u->kept, "%s", encode_utf8(w, element->phonemes));
    u->measures[i] = (measured){(int64_t)element->phonemes.size, (int64_t)element->space.size, is_spoken(element)};
    places[i] = (kokoro_place){p->bytes[element->start], p->bytes[element->end]};
    for (size_t j = 0; j < element->phonemes.size; ++j) u->tokens[token++] = id_of(p->k, element->phonemes.at[j]);
    for (size_t j = 0; j < element->space.size; ++j) u->tokens[token++] = id_of(p->k, element->space.at[j]);
  }
  u->speech.token_count = from->tokens;
  u->speech.words = u->words;
  u->speech.word_count = count;
  u->speech.places = places;
}

static int predict_piece(void *with, work *w, piece *of) {
  kokoro_plan *p = with;
  utterance *u = p->u;
  scope *s = w->s;
  release(&u->kept);
  *u = (utterance){.speed = p->speed};
  if ((int64_t)of->tokens > largest(p->k->bundle, TOKENS)) return 0;
  u->style = take(s, &u->kept, (size_t)(2 * p->k->bundle->style_dim), sizeof *u->style);
  read_style(s, p->k, u, p->voice, (int64_t)of->symbols);
  set_words(s, p, w, of);
  predict(s, p->k, u);
  of->durations = u->durations;
  return u->frames <= largest(p->k->bundle, FRAMES);
}

static void plan_body(scope *s, void *argument) {
  kokoro_plan *p = ((void **)argument)[0];
  const kokoro_text *expected = ((void **)argument)[1];
  const char *of_voice, *of_speed = check_speed(s, expected->speed);
  if (!expected->text) fail(s, KOKORO_INPUT, "There is no text to speak.");
  p->speed = expected->speed;
  p->voice = format(s, s->kept, "%s", expected->voice ? expected->voice : default_voice(p->k));
  string text = read_characters(s, p, expected->text);
  const reader *reads = reader_of(s, p->k, language_of(s, p->k, p->voice, &of_voice), p->voice);
  p->first_notice = format(s, s->kept, "%s%s%s", of_voice, *of_voice && of_speed ? "\n" : "", of_speed ? of_speed : "");
  p->planner = (planner){.reader = reads, .knows = has_symbol, .predict = predict_piece, .with = p, .speed = p->speed,
                         .sample_rate = p->k->bundle->sample_rate,
                         .limits = {largest(p->k->bundle, TOKENS), largest(p->k->bundle, FRAMES)}};
  begin_plan(&p->planner, s, text);
}

int kokoro_plan_text(kokoro *k, const kokoro_text *text, kokoro_plan **plan, kokoro_error *error) {
  kokoro_plan *p = calloc(1, sizeof *p);
  const void *value[] = {p, text};
  *plan = NULL;
  if (!p) return no_memory(error);
  p->k = k;
  p->notice = "";
  int code = do_job(k, plan_body, value, &p->kept, error);
  if (code) kokoro_free_plan(p);
  else *plan = p;
  return code;
}

static void set_notice(scope *s, kokoro_plan *p) {
  const char *text = p->first_notice;
  for (size_t i = 0; i < p->planner.notices.count; ++i)
    text = format(s, &s->scratch, "%s%s%s", text, *text ? "\n" : "", encode_utf8(&p->planner.w, p->planner.notices.all[i]));
  p->notice = format(s, &p->kept_notice, "%s", text);
  p->first_notice = "";
}

static void next_body(scope *s, void *argument) {
  kokoro_plan *p = argument;
  utterance *u = p->u;
  piece result;
  int64_t before, after, rate = p->k->bundle->samples_per_frame;
  p->notice = "";
  release(&p->kept_notice);
  int exists = next_piece(&p->planner, s, &result);
  set_notice(s, p);
  if (!exists) {
    p->u = NULL;
    return;
  }
  piece *kept = take(s, &u->kept, 1, sizeof *kept);
  *kept = result;
  kept->words.all = take(s, &u->kept, result.words.count, sizeof *kept->words.all);
  for (size_t i = 0; i < result.words.count; ++i) {
    kept->words.all[i] = result.words.all[i];
    kept->words.all[i].phonemes = kept_string(s, u, result.words.all[i].phonemes);
    kept->words.all[i].space = kept_string(s, u, result.words.all[i].space);
    kept->words.all[i].text = (string){0};
  }
  cuts_of(kept, rate, &before, &after);
  u->piece = kept;
  u->speech.samples = (size_t)(u->frames * rate - before - after + kept->pause);
  u->speech.notice = format(s, &u->kept, "%s", p->notice);
  time_words(p->k, u, before, (int64_t)u->speech.samples - kept->pause);
}

int kokoro_next_piece(kokoro_plan *p, kokoro_speech **speech, kokoro_error *error) {
  utterance *u = p->u = calloc(1, sizeof *u);
  *speech = NULL;
  if (!u) return no_memory(error);
  int code = do_job(p->k, next_body, p, &u->kept, error);
  if (code || !p->u) kokoro_free(&u->speech);
  else *speech = &u->speech;
  p->u = NULL;
  return code;
}

const char *kokoro_plan_notice(const kokoro_plan *p) { return p->notice; }

void kokoro_free_plan(kokoro_plan *p) {
  if (!p) return;
  end_plan(&p->planner);
  release(&p->kept);
  release(&p->kept_notice);
  free(p);
}

/* Speeches in order. */
typedef struct chain {
  kokoro *k;
  utterance *whole;
  kokoro_speech **all;
  size_t count;
  const char *notices;
} chain;

static void join_body(scope *s, void *argument) {
  chain *c = argument;
  utterance *u = c->whole;
  kokoro_speech *to = &u->speech;
  for (size_t i = 0; i < c->count; ++i) {
    to->samples += c->all[i]->samples;
    to->token_count += c->all[i]->token_count;
    to->word_count += c->all[i]->word_count;
  }
  kokoro_place *places = take(s, &u->kept, to->word_count, sizeof *places);
  u->audio = take(s, &u->kept, to->samples, sizeof *u->audio);
  u->durations = take(s, &u->kept, to->token_count, sizeof *u->durations);
  u->words = take(s, &u->kept, to->word_count, sizeof *u->words);
  size_t sample = 0, token = 0, word = 0;
  for (size_t i = 0; i < c->count; ++i) {
    const kokoro_speech *from = c->all[i];
    memcpy(u->audio + sample, from->audio, from->samples * sizeof *u->audio);
    memcpy(u->durations + token, from->durations, from->token_count * sizeof *u->durations);
    for (size_t j = 0; j < from->word_count; ++j, ++word) {
      u->words[word] = from->words[j];
      u->words[word].text = format(s, &u->kept, "%s", from->words[j].text);
      u->words[word].start_sample += (int64_t)sample;
      u->words[word].end_sample += (int64_t)sample;
      places[word] = from->places[j];
    }
    sample += from->samples;
    token += from->token_count;
  }
  to->audio = u->audio;
  to->durations = u->durations;
  to->words = u->words;
  to->places = places;
  to->notice = format(s, &u->kept, "%s", c->notices);
}

/* Speak every piece of a plan into the chain. */
static int say_pieces(kokoro_plan *plan, uint64_t seed, chain *c, char **notices, kokoro_error *error) {
  for (size_t room = 0;;) {
    kokoro_speech *piece;
    int code = kokoro_next_piece(plan, &piece, error);
    if (code) return code;
    size_t before = *notices ? strlen(*notices) : 0, more = strlen(plan->notice);
    char *text = realloc(*notices, before + more + 2);
    if (text) {
      *notices = text;
      text[before] = 0;
      if (before && more) strcat(text, "\n");
      strcat(text, plan->notice);
    }
    if (!piece && text) return KOKORO_OK;
    if (text && c->count == room) {
      kokoro_speech **all = realloc(c->all, (room = 2 * room + 8) * sizeof *all);
      if (all) c->all = all;
      else text = NULL;
    }
    if (!text) return kokoro_free(piece), no_memory(error);
    c->all[c->count++] = piece;
    code = kokoro_decode(c->k, piece, seed, NULL, 0, error);
    if (code) return code;
  }
}

int kokoro_say_text(kokoro *k, const kokoro_text *text, uint64_t seed, kokoro_speech **speech, kokoro_error *error) {
  kokoro_plan *plan;
  char *notices = NULL;
  chain c = {.k = k, .whole = calloc(1, sizeof *c.whole)};
  *speech = NULL;
  if (!c.whole) return no_memory(error);
  int code = kokoro_plan_text(k, text, &plan, error);
  if (!code) code = say_pieces(plan, seed, &c, &notices, error);
  c.notices = notices;
  if (!code) code = do_job(k, join_body, &c, &c.whole->kept, error);
  for (size_t i = 0; i < c.count; ++i) kokoro_free(c.all[i]);
  free(c.all);
  free(notices);
  kokoro_free_plan(plan);
  if (code) kokoro_free(&c.whole->speech);
  else *speech = &c.whole->speech;
  return code;
}
