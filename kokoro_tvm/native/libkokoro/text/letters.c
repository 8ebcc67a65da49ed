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

/* Return a word without the ending 's. */
static string without_possessive(string word) {
  size_t end = word.size;
  int found = end > 1 && is_one_of(word.at[end - 1], "sS") && is_one_of(word.at[end - 2], "'’");
  return found ? slice(word, 0, end - 2) : word;
}

/* Return the phonemes of a name or its stem by the pronunciation dictionary, or NONE. */
static string read_name(work *w, lexicon *l, string word) {
  string stem = without_possessive(word), letters = plain_letters(w, stem);
  lexicon names = {l->names, l->names, l->names, l->letters, l->british};
  if (stem.size < word.size) letters = join(w, letters, decode_utf8(w, "'s"));
  return read_entry(w, &names, letters, (string){0}, (context){PAUSE, 0}, AS_IT_IS);
}

static string read_stem(work *w, lexicon *l, string word, int *origin) {
  string letters = plain_letters(w, word);
  int vowels = 0;
  if (!letters.size) return NONE;
  *origin = FROM_NAMES;
  string result = read_entry(w, l, letters, (string){0}, (context){PAUSE, 0}, AS_IT_IS);
  if (!result.size) result = read_name(w, l, word);
  if (result.size) return result;
  *origin = FROM_LETTERS;
  for (size_t i = 0; i < letters.size; ++i) vowels += is_one_of(letters.at[i], "aeiouy");
  if (vowels && letters.size > 1) result = read_letters(w, l->letters, letters);
  if (result.size) return result;
  *origin = FROM_SPELLED;
  result = spell(w, l, letters);
  return result.size ? result : NONE;
}

/* Read a part between hyphens, or return NONE. */
static string read_part(work *w, lexicon *l, string word, int *origin) {
  string stem = without_possessive(word), result = NONE;
  if (stem.size < word.size) result = read_stem(w, l, stem, origin);
  return result.size ? plural(w, l, result) : read_stem(w, l, word, origin);
}

string guess(work *w, lexicon *l, string word, int *origin) {
  *origin = FROM_NAMES;
  string name = read_name(w, l, word);
  if (name.size) return name;
  builder phonemes = {0};
  for (size_t start = 0, end = 0; end <= word.size; start = ++end) {
    int of_part;
    while (end < word.size && word.at[end] != '-') ++end;
    string part = read_part(w, l, slice(word, start, end), &of_part);
    if (!part.size) return read_part(w, l, word, origin);
    if (*origin == FROM_NAMES) *origin = of_part;
    put(w, &phonemes, part);
  }
  return BUILT(phonemes);
}
