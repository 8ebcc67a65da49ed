/* Words that misaki's lexicon lacks: by the dictionary of names, letter-to-sound or spelling (letters.py). */
#include "lexicon.h"
#include "joint_ngrams.h"

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

string guess(work *w, lexicon *l, string word, int *origin) {
  string letters = plain_letters(w, word), result;
  int vowels = 0;
  for (size_t i = 0; i < letters.size; ++i) vowels += is_one_of(letters.at[i], "aeiouy");
  if (!letters.size) return NONE;
  lexicon names = {l->names, l->names, l->names, l->letters, l->british};
  *origin = FROM_NAMES;
  result = read_entry(w, &names, letters, (string){0}, (context){PAUSE, 0}, AS_IT_IS);
  if (result.size) return result;
  *origin = FROM_LETTERS;
  if (vowels && letters.size > 1) result = read_letters(w, l->letters, letters);
  if (result.size) return result;
  *origin = FROM_SPELLED;
  result = spell(w, l, letters);
  return result.size ? result : NONE;
}
