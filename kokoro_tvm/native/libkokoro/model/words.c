/* Times of words, as kokoro_tvm/runtime/speech/words.py sets them for a piece. */
#include "model.h"

#include "numbers.h"

/* Return whether silence follows word `place`. last: frames of the last symbol before it. */
static int has_pause_after(const utterance *u, size_t place, int64_t last) {
  size_t next = place + 1;
  while (next < u->word_count && !u->measures[next].symbols) ++next;
  if (!u->measures[place].spoken || next == u->word_count || !u->measures[next].spoken) return 1;
  double speed = u->speed * u->measures[place].rate;
  return (double)last * (speed < 1 ? speed : 1) >= PAUSING_SOUND;
}

static int64_t sum(const int64_t *values, int64_t count) {
  int64_t total = 0;
  while (count--) total += *values++;
  return total;
}

void time_words(const kokoro *k, utterance *u, int64_t before, int64_t samples) {
  const int64_t *durations = u->durations + 1;
  int64_t rate = k->bundle->samples_per_frame, frames = u->durations[0], space = 0;
  int paused = 1;
  for (size_t i = 0; i < u->word_count; ++i) {
    const measured *word = &u->measures[i];
    int64_t whole = sum(durations, word->symbols), last = word->symbols ? durations[word->symbols - 1] : 0;
    int64_t begin = frames - (paused ? 0 : space), end = word->symbols ? frames + whole : begin;
    paused = has_pause_after(u, i, last);
    if (paused && word->spoken && last > LAST_SOUND) end -= last - LAST_SOUND;
    int64_t ends[2] = {(begin - EARLY_FRAMES) * rate - before, (end - EARLY_FRAMES) * rate - before};
    for (int j = 0; j < 2; ++j) ends[j] = ends[j] < 0 ? 0 : ends[j] > samples ? samples : ends[j];
    u->words[i].start_sample = ends[0];
    u->words[i].end_sample = ends[1];
    u->words[i].spoken = word->spoken;
    durations += word->symbols;
    space = sum(durations, word->spaces);
    durations += word->spaces;
    frames += whole + space;
  }
}
