/* Text to speech: a plan reads a text and predicts one piece after the other. */
#include <stdlib.h>
#include <string.h>

#include "library.h"

enum { MOST_TAIL = 3 }; /* bytes of a character that is not complete */

struct kokoro_plan {
  kokoro *k;
  planner planner;
  arena kept;
  char *voice, *notice, *first_notice; /* notice: of the last call, in `kept_notice` */
  arena kept_notice;
  size_t place;             /* bytes of text that were decoded */
  char tail[MOST_TAIL + 1]; /* bytes that were not */
  utterance *u;             /* of the current piece */
  float *features;          /* of the first utterance if it is cut, (channels, tokens) */
  int64_t channels;
  char letter;              /* of the language of `voice` */
  notes voice_notices;      /* that were given */
};

/* Return whether the bytes may be the beginning of a character. */
static int is_begun(const char *bytes) {
  const unsigned char *at = (const unsigned char *)bytes;
  size_t count = strlen(bytes), needed = *at >= 0xF0 && *at < 0xF5 ? 4 : *at >= 0xE0 ? 3 : *at >= 0xC2 ? 2 : 1;
  for (size_t i = 1; i < count; ++i)
    if ((at[i] & 0xC0) != 0x80) return 0;
  return *at < 0xF5 && count < needed;
}

/* Decode text, and give it to the planner with the places of its bytes. What may be the beginning of a character waits. */
static void decode_text(scope *s, kokoro_plan *p, const char *text) {
  char *all = format(s, &s->scratch, "%s%s", p->tail, text);
  size_t room = strlen(all), count = 0;
  int32_t *characters = take(s, &s->scratch, room, sizeof *characters);
  size_t *places = take(s, &s->scratch, room + 1, sizeof *places);
  const char *at = all;
  for (; *at; ++count) {
    places[count] = p->place + (size_t)(at - all);
    if ((characters[count] = next_symbol(&at)) >= 0) continue;
    if (is_begun(at)) break;
    fail(s, KOKORO_INPUT, "The text is no UTF-8: byte %zu is no part of a character. Convert it to UTF-8 first.",
         places[count] + 1);
  }
  strcpy(p->tail, at);
  p->place = places[count] = p->place + (size_t)(at - all);
  give_text(&p->planner, s, (string){characters, count}, places);
}

static void finish_text(scope *s, kokoro_plan *p) {
  if (*p->tail)
    fail(s, KOKORO_INPUT, "The text is no UTF-8: byte %zu is no part of a character. Convert it to UTF-8 first.", p->place + 1);
  end_text(&p->planner);
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

static const reader *reader_of(void *with, scope *s, char letter) {
  kokoro *k = ((kokoro_plan *)with)->k;
  int english = letter == 'a' || letter == 'b';
  const reader *result = NULL;
  const spoken_language *spoken = k->bundle->languages;
  for (int64_t i = 0; i < k->bundle->spoken; ++i)
    if (k->bundle->languages[i].letter == letter) spoken = &k->bundle->languages[i];
  if (!k->front_end.count)
    fail(s, KOKORO_INPUT, "%s has no front end, so that it speaks phonemes alone. Build it with `front_end`.", k->bundle->root);
  if (!spoken->espeak) result = get_reader(s, k, letter, english ? NULL : get_reader(s, k, 'a', NULL));
  if (!result)
    fail(s, KOKORO_INPUT, "libkokoro reads no %s text. Give phonemes, or a voice of another language.", spoken->name);
  return result;
}

static int has_symbol(void *with, int32_t symbol) { return id_of(((kokoro_plan *)with)->k, symbol) >= 0; }

/* Return the letter of a voice's language. A notice about the voice is given once. */
static char letter_of(void *with, work *w, string voice) {
  kokoro_plan *p = with;
  const char *of_voice;
  if (IS_NONE(voice)) return p->letter;
  char letter = language_of(w->s, p->k, encode_utf8(w, voice), &of_voice)->letter;
  string text = decode_utf8(&p->planner.lasting, of_voice);
  if (text.size && add_text_once(&p->planner.lasting, &p->voice_notices, text))
    PUSH(&p->planner.w, p->planner.notices, (notice){.sentence = text});
  return letter;
}

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
    u->measures[i] = (measured){(int64_t)element->phonemes.size, (int64_t)element->space.size, element->rate, is_spoken(element)};
    places[i] = (kokoro_place){element->start, element->end};
    for (size_t j = 0; j < element->phonemes.size; ++j) u->tokens[token++] = id_of(p->k, element->phonemes.at[j]);
    for (size_t j = 0; j < element->space.size; ++j) u->tokens[token++] = id_of(p->k, element->space.at[j]);
  }
  u->token_count = u->speech.token_count = from->tokens;
  u->speech.words = u->words;
  u->word_count = u->speech.word_count = count;
  u->speech.places = places;
}

/* Begin the utterance of a piece, which is silence if it has no words. */
static void begin_utterance(scope *s, kokoro_plan *p, const piece *from) {
  utterance *u = p->u;
  work *w = &p->planner.w;
  release(&u->kept);
  *u = (utterance){.speed = p->planner.speed};
  if (!from->words.count) return;
  u->style = take(s, &u->kept, (size_t)(2 * p->k->bundle->style_dim), sizeof *u->style);
  read_style(s, p->k, u, IS_NONE(from->voice) ? p->voice : encode_utf8(w, from->voice), (int64_t)from->symbols);
  set_words(s, p, w, from);
}

/* Predict the durations of a draft, and give them to the planner. */
static void predict_draft(scope *s, kokoro_plan *p, const piece *draft) {
  begin_utterance(s, p, draft);
  give_durations(&p->planner, s, predict(s, p->k, p->u));
}

static float *copy_features(scope *s, const kokoro_plan *p, arena *kept, const float *features) {
  size_t count = p->u->token_count * (size_t)p->channels;
  return memcpy(take(s, kept, count, sizeof *features), features, count * sizeof *features);
}

/* Hand the features of the first utterance from its first part to its second, which has no draft of its own. */
static void share_features(scope *s, kokoro_plan *p, const piece *part) {
  if (part->first) {
    begin_utterance(s, p, part);
    p->u->channels = p->channels;
    p->u->features = copy_features(s, p, &p->u->kept, p->features);
  } else if (part->last < part->words.count) {
    p->channels = p->u->channels;
    p->features = copy_features(s, p, &p->kept, p->u->features);
  }
}

static void plan_body(scope *s, void *argument) {
  static const markup_form forms[] = {PLAIN, UNDECIDED, BRACKETS, SSML}; /* in the order of KOKORO_PLAIN and so on */
  kokoro_plan *p = ((void **)argument)[0];
  const kokoro_text *expected = ((void **)argument)[1];
  const division *into = ((void **)argument)[2];
  const char *of_voice, *of_speed = check_speed(s, expected->speed);
  if (expected->markup < KOKORO_PLAIN || expected->markup > KOKORO_SSML)
    fail(s, KOKORO_INPUT, "The markup should be KOKORO_PLAIN to KOKORO_SSML, but is %d.", expected->markup);
  p->voice = format(s, s->kept, "%s", expected->voice ? expected->voice : default_voice(p->k));
  p->letter = language_of(s, p->k, p->voice, &of_voice)->letter;
  p->planner = (planner){.names = {p, has_symbol, letter_of}, .reader_of = reader_of, .speed = expected->speed,
                         .sample_rate = p->k->bundle->sample_rate,
                         .samples_per_frame = p->k->bundle->samples_per_frame, .pauses = USUAL_PAUSES, .division = *into,
                         .limits = {largest(p->k->bundle, TOKENS), largest(p->k->bundle, FRAMES)}};
  reader_of(p, s, p->letter);
  p->first_notice = format(s, s->kept, "%s%s%s", of_voice, *of_voice && of_speed ? "\n" : "", of_speed ? of_speed : "");
  if (expected->omit < 0 || expected->omit > KOKORO_OMIT_ALL)
    fail(s, KOKORO_INPUT, "What is omitted should be a sum of KOKORO_OMIT_CITATIONS to KOKORO_OMIT_NOTES, but is %d.", expected->omit);
  begin_plan(&p->planner, s, forms[expected->markup], (unsigned)expected->omit);
  if (!expected->text) return;
  decode_text(s, p, expected->text);
  finish_text(s, p);
}

static int plan_divided(kokoro *k, const kokoro_text *text, const division *into, kokoro_plan **plan, kokoro_error *error) {
  kokoro_plan *p = calloc(1, sizeof *p);
  const void *value[] = {p, text, into};
  *plan = NULL;
  if (!p) return no_memory(error);
  p->k = k;
  p->notice = "";
  int code = do_job(k, plan_body, value, &p->kept, error);
  if (code) kokoro_free_plan(p);
  else *plan = p;
  return code;
}

int kokoro_plan_text(kokoro *k, const kokoro_text *text, kokoro_plan **plan, kokoro_error *error) {
  return plan_divided(k, text, &USUAL_DIVISION, plan, error);
}

static void add_body(scope *s, void *argument) {
  kokoro_plan *p = ((void **)argument)[0];
  const char *text = ((void **)argument)[1];
  if (text) decode_text(s, p, text);
  else finish_text(s, p);
}

int kokoro_add_text(kokoro_plan *p, const char *text, kokoro_error *error) {
  const void *value[] = {p, text};
  return do_job(p->k, add_body, value, &p->kept, error);
}

/* Append the notices of the last step to the notice of the call. */
static void keep_notices(scope *s, kokoro_plan *p) {
  const char *text = *p->notice ? p->notice : p->first_notice;
  for (size_t i = 0; i < p->planner.notices.count; ++i)
    text = format(s, &s->scratch, "%s%s%s", text, *text ? "\n" : "", encode_utf8(&p->planner.w, p->planner.notices.all[i].sentence));
  p->notice = format(s, &p->kept_notice, "%s", text);
  p->first_notice = "";
}

/* Limit the tokens and words of the speech to those that are heard. */
static void select_heard(utterance *u) {
  const piece *p = u->piece;
  size_t tokens[2] = {0, u->token_count}, token = 1;
  for (size_t i = 0; i < u->word_count; ++i) {
    if (i && i == p->first) tokens[0] = token;
    token += (size_t)(u->measures[i].symbols + u->measures[i].spaces);
    if (i + 1 == p->last && p->last < u->word_count) tokens[1] = token;
  }
  u->speech.durations = u->durations + tokens[0];
  u->speech.token_count = tokens[1] - tokens[0];
  u->speech.words = u->words + p->first;
  u->speech.places += p->first;
  u->speech.word_count = p->last - p->first;
}

/* Copy a piece into its utterance, which outlives the planner's step. */
static void keep_piece(scope *s, utterance *u, const piece *from) {
  piece *kept = take(s, &u->kept, 1, sizeof *kept);
  *kept = *from;
  kept->words.all = take(s, &u->kept, from->words.count, sizeof *kept->words.all);
  kept->durations = take(s, &u->kept, from->tokens, sizeof *kept->durations);
  if (from->tokens) memcpy(kept->durations, from->durations, from->tokens * sizeof *kept->durations);
  for (size_t i = 0; i < from->words.count; ++i) {
    kept->words.all[i] = from->words.all[i];
    kept->words.all[i].phonemes = kept_string(s, u, from->words.all[i].phonemes);
    kept->words.all[i].space = kept_string(s, u, from->words.all[i].space);
    kept->words.all[i].text = (string){0};
  }
  kept->voice = NONE;
  u->piece = kept;
}

static void next_body(scope *s, void *argument) {
  kokoro_plan *p = argument;
  utterance *u = p->u;
  piece result;
  plan_step step;
  int64_t before, after, rate = p->k->bundle->samples_per_frame;
  p->notice = "";
  release(&p->kept_notice);
  while ((step = next_step(&p->planner, s, &result)) == NEEDS_DURATIONS) {
    keep_notices(s, p);
    predict_draft(s, p, &result);
  }
  keep_notices(s, p);
  if (step == NEEDS_TEXT)
    fail(s, KOKORO_NEEDS_TEXT, "The plan needs more text. Give it with kokoro_add_text, and NULL at the end.");
  if (step == FINISHED) {
    p->u = NULL;
    return;
  }
  if (!result.words.count) begin_utterance(s, p, &result);
  share_features(s, p, &result);
  keep_piece(s, u, &result);
  set_durations(p->k, u, u->piece->durations);
  cuts_of(u->piece, rate, &before, &after);
  u->speech.samples = (size_t)(u->frames * rate - before - after + result.pause);
  u->speech.notice = format(s, &u->kept, "%s", p->notice);
  if (!result.words.count) return;
  time_words(p->k, u, before, (int64_t)u->speech.samples - result.pause);
  select_heard(u);
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
  int code = plan_divided(k, text, &UNCUT_DIVISION, &plan, error);
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
