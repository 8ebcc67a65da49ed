/* Letter-to-sound: every letter is read by the longest context that the model knows (letters.py, unknown.py). */
#include <string.h>

#include "lexicon.h"

enum { AROUND = 4, CONTEXT = 9 };

/* Return the letters a to z of a word without accents; "" if it has others. */
static string plain_letters(work *w, string word) {
  string parts = nfkd(w, lower(w, word));
  builder letters = {0};
  for (size_t i = 0; i < parts.size; ++i) {
    if (!is_alpha(parts.at[i])) continue; /* skip combining characters */
    if (parts.at[i] > 0x7F) return NONE;
    put_char(w, &letters, parts.at[i]);
  }
  return BUILT(letters);
}

/* Return the features of the letter at a place, in order of weight. */
static void context_at(string letters, size_t place, int stressed, int32_t result[CONTEXT]) {
  static const int8_t steps[CONTEXT] = {0, 1, -1, 0, 2, -2, 3, -3, 4};
  for (int i = 0; i < CONTEXT; ++i) {
    int64_t at = (int64_t)place + steps[i];
    result[i] = at >= 0 && (size_t)at < letters.size ? letters.at[at] : '_';
  }
  result[3] = stressed ? '1' : '0';
}

static string read_letters(work *w, lexicon *l, string letters) {
  builder spoken = {0};
  int stressed = 0;
  for (size_t place = 0; place < letters.size; ++place) {
    int32_t around[CONTEXT];
    context_at(letters, place, stressed, around);
    for (size_t size = CONTEXT; size; --size) {
      entry result = find_entry(&l->letters, (string){around, size});
      if (!result.at || is_named(result)) continue;
      string sounds = text_of(w, result);
      stressed = stressed || contains(sounds, PRIMARY);
      put(w, &spoken, sounds);
      break;
    }
  }
  if (!stressed) return restress(w, BUILT(spoken), contains(BUILT(spoken), SECONDARY) ? STRESSED : STRONG);
  int first = 1;
  for (size_t i = 0; i < spoken.count; ++i) {
    if (spoken.all[i] != PRIMARY) continue;
    if (!first) spoken.all[i] = SECONDARY;
    first = 0;
  }
  return BUILT(spoken);
}

string guess(work *w, lexicon *l, string word, int *origin) {
  string letters = plain_letters(w, word), read = NONE;
  int vowels = 0;
  for (size_t i = 0; i < letters.size; ++i) vowels += is_one_of(letters.at[i], "aeiouy");
  if (!letters.size) return NONE;
  *origin = FROM_LETTERS;
  if (vowels && letters.size > 1) read = read_letters(w, l, plain_letters(w, letters)); /* it may be lower case only now */
  if (read.size) return read;
  *origin = FROM_SPELLED;
  read = spell(w, l, letters);
  return read.size ? read : NONE;
}
