/* The alphabet and the rules are those of misaki 0.9.4 (hexgrad, Apache-2.0). */
#include "lexicon.h"

int is_vowel(int32_t symbol) { return is_one_of(symbol, "AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ"); }
int is_consonant(int32_t symbol) { return is_one_of(symbol, "bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ"); }

size_t weight_of(string phonemes) {
  size_t weight = phonemes.size;
  for (size_t i = 0; i < phonemes.size; ++i) weight += (size_t)is_one_of(phonemes.at[i], "AIOQWYʤʧ");
  return weight;
}

/* Without secondary stress, or with another in its place; with another than the primary. 0: without. */
static string with_marks(work *w, string phonemes, int32_t primary, int32_t secondary) {
  builder made = {0};
  for (size_t i = 0; i < phonemes.size; ++i) {
    int32_t symbol = phonemes.at[i];
    symbol = symbol == PRIMARY ? primary : symbol == SECONDARY ? secondary : symbol;
    if (symbol) put_char(w, &made, symbol);
  }
  return some(BUILT(made));
}

string restress(work *w, string phonemes, stress wanted) {
  int primary = holds(phonemes, PRIMARY), secondary = holds(phonemes, SECONDARY);
  if (wanted == AS_IT_IS) return phonemes;
  if (wanted == MUTED) return with_marks(w, phonemes, 0, 0);
  if (wanted == LOWERED || (wanted <= UNSTRESSED && primary)) return with_marks(w, phonemes, SECONDARY, 0);
  if (!primary && !secondary && wanted >= UNSTRESSED) {
    builder made = {0};
    size_t vowel = 0;
    while (vowel < phonemes.size && !is_vowel(phonemes.at[vowel])) ++vowel;
    if (vowel == phonemes.size) return phonemes;
    put(w, &made, slice(phonemes, 0, vowel));
    put_char(w, &made, wanted > STRESSED ? PRIMARY : SECONDARY);
    put(w, &made, slice(phonemes, vowel, phonemes.size));
    return BUILT(made);
  }
  return wanted >= STRESSED && !primary ? with_marks(w, phonemes, PRIMARY, PRIMARY) : phonemes;
}
