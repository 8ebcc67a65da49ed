/* Joins of utterances: transitions from sound to silence (runtime/speech/joins.py, piece.py). */
#include <math.h>

#include "numbers.h"
#include "text.h"

const pauses USUAL_PAUSES = {PAUSES_SENTENCE, PAUSES_ELLIPSIS, PAUSES_SEMICOLON, PAUSES_COMMA, PAUSES_PARAGRAPH, PAUSES_NONE};

double pause_after(const pauses *seconds, const words *all, boundary ends) {
  int dots = 0, sentence = 0, semicolon = 0, comma = 0, ellipsis = 0;
  if (ends == PARAGRAPH) return seconds->paragraph;
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
  if (ellipsis) return seconds->ellipsis;
  if (sentence || semicolon || comma) return sentence ? seconds->sentence : semicolon ? seconds->semicolon : seconds->comma;
  return ends == SENTENCE ? seconds->sentence : seconds->none;
}

static int64_t sum(const int64_t *all, size_t count) {
  int64_t total = 0;
  while (count--) total += *all++;
  return total;
}

/* Return the frames from the first to the last sound of a word before a pause. */
static int64_t audible_frames(const word *element, const int64_t *durations) {
  size_t last = element->phonemes.size - 1;
  return sum(durations, last) + (durations[last] < LAST_SOUND ? durations[last] : LAST_SOUND);
}

size_t cut_place(const piece *p, double frames, double speed) {
  int64_t end = p->durations[0], total = sum(p->durations, p->tokens);
  const int64_t *durations = p->durations + 1;
  double most = frames < (double)(total - MIN_PART) ? frames : (double)(total - MIN_PART);
  size_t best = 0;
  int best_quiet = 0;
  for (size_t i = 0; (double)total > frames && i + 1 < p->words.count; ++i) {
    const word *element = &p->words.all[i], *next = element + 1;
    size_t symbols = element->phonemes.size, spaces = element->space.size, stress = 0;
    int64_t last = symbols ? durations[symbols - 1] : 0, space = sum(durations + symbols, spaces);
    end += sum(durations, symbols) + space;
    durations += symbols + spaces;
    if (!is_spoken(element) || !is_spoken(next) || !spaces) continue;
    if (end - space - CUT_FRAMES < MIN_PART || (double)(end - space - CUT_FRAMES) > most) continue;
    double factor = speed * element->rate;
    while (is_one_of(next->phonemes.at[stress], "ˈˌ")) ++stress;
    int quiet = (double)last * (factor < 1 ? factor : 1) >= PAUSING_SOUND ? 2 : is_one_of(next->phonemes.at[stress], STOPS);
    if (quiet >= best_quiet) best = i + 1, best_quiet = quiet;
  }
  return best;
}

/* Return the frame of the utterance at which it is cut before a word. */
static int64_t cut_before(const piece *p, size_t place) {
  int64_t frames = p->durations[0], space = 0;
  const int64_t *durations = p->durations + 1;
  for (size_t i = 0; i < place; ++i) {
    const word *element = &p->words.all[i];
    space = sum(durations + element->phonemes.size, element->space.size);
    frames += sum(durations, element->phonemes.size) + space;
    durations += element->phonemes.size + element->space.size;
  }
  return frames - space - CUT_FRAMES;
}

/* Return the first frame of the utterance that is heard, and the one after the last. */
static void heard_span(const piece *p, int64_t *first, int64_t *last) {
  *first = p->first ? cut_before(p, p->first) : 0;
  *last = p->last < p->words.count ? cut_before(p, p->last) : sum(p->durations, p->tokens);
}

void window_of(const piece *p, int64_t *first, int64_t *last) {
  int64_t total = sum(p->durations, p->tokens);
  heard_span(p, first, last);
  *first = p->first && *first > HALO_FRAMES ? *first - HALO_FRAMES : 0;
  *last = total - *last > HALO_FRAMES ? *last + HALO_FRAMES : total;
}

void cuts_of(const piece *p, int64_t samples_per_frame, int64_t *before, int64_t *after) {
  *before = *after = 0;
  if (!p->words.count) return;
  int64_t first = -1, place = p->durations[0], end = 0, total = sum(p->durations, p->tokens);
  const int64_t *durations = p->durations + 1;
  for (size_t i = 0; i < p->words.count; ++i) {
    const word *element = &p->words.all[i];
    size_t symbols = element->phonemes.size + element->space.size;
    if (is_spoken(element)) {
      if (first < 0) first = place;
      end = place + audible_frames(element, durations);
    }
    place += sum(durations, symbols);
    durations += symbols;
  }
  int64_t silence[2] = {first < 0 ? 0 : first, first < 0 ? 0 : total - end}, *cuts[2] = {before, after};
  for (int i = 0; i < 2; ++i) {
    int64_t cut = silence[i] * samples_per_frame - p->keep[i];
    *cuts[i] = p->keep[i] < 0 || cut < 0 ? 0 : cut;
  }
  int64_t heard[2];
  heard_span(p, &heard[0], &heard[1]);
  if (p->first) *before = heard[0] * samples_per_frame;
  if (p->last < p->words.count) *after = (total - heard[1]) * samples_per_frame;
}

static float rise(int64_t place, int64_t count) {
  return (float)(0.5 - 0.5 * cos(3.141592653589793 * (double)place / (double)(count > 1 ? count : 1)));
}

static void silence(float *audio, int64_t first, int64_t last, int64_t samples, int64_t fade) {
  int64_t count = fade < (last - first) / 2 ? fade : (last - first) / 2;
  for (int64_t i = first; i < last; ++i) {
    float gain = 0;
    if (first > 0 && i < first + count) gain = rise(count - 1 - (i - first), count);
    if (last < samples && i >= last - count) gain = rise(i - (last - count), count);
    audio[i] *= gain;
  }
}

static void mute_marks(const piece *p, float *audio, int64_t samples_per_frame, int64_t rate, int64_t samples) {
  int64_t fade = (int64_t)nearbyint(FADE * (double)rate), begin = 0, place = p->durations[0];
  int64_t release = (int64_t)nearbyint(RELEASE * (double)rate), attack = (int64_t)nearbyint(ATTACK * (double)rate);
  const int64_t *durations = p->durations + 1;
  int sounding = 0, marked = 1;
  for (size_t i = 0; i < p->words.count; ++i) {
    const word *element = &p->words.all[i];
    size_t symbols = element->phonemes.size + element->space.size;
    if (is_spoken(element)) {
      int64_t end = place * samples_per_frame - attack;
      if (marked && end > begin + 2 * fade) silence(audio, begin, end, samples, fade);
      begin = (place + audible_frames(element, durations)) * samples_per_frame + release;
      sounding = 1, marked = 0;
    } else if (element->phonemes.size) {
      marked = 1;
    }
    place += sum(durations, symbols);
    durations += symbols;
  }
  if (sounding && samples > begin + 2 * fade) silence(audio, begin, samples, samples, fade);
}

int64_t finish_audio(const piece *p, float *audio, int64_t samples_per_frame, int64_t rate) {
  int64_t samples = sum(p->durations, p->tokens) * samples_per_frame, before, after;
  cuts_of(p, samples_per_frame, &before, &after);
  if (p->words.count) mute_marks(p, audio, samples_per_frame, rate, samples);
  int64_t kept = samples - before - after, fade = (int64_t)nearbyint(FADE * (double)rate);
  if (fade > kept) fade = kept;
  for (int64_t i = 0; before && i < kept; ++i) audio[i] = audio[before + i];
  for (int64_t i = 0; before && i < fade; ++i) audio[i] *= rise(i, fade);
  for (int64_t i = 0; after && i < fade; ++i) audio[kept - fade + i] *= rise(fade - 1 - i, fade);
  for (int64_t i = 0; i < p->pause; ++i) audio[kept + i] = 0;
  return kept + p->pause;
}
