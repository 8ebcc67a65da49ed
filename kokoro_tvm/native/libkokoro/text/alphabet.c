/* Alphabet and rules of misaki 0.9.4 (hexgrad, Apache-2.0). */
#include "lexicon.h"

int is_vowel(int32_t symbol) { return is_one_of(symbol, "AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ"); }
int is_consonant(int32_t symbol) { return is_one_of(symbol, "bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ"); }

size_t weight_of(string phonemes) {
  size_t weight = phonemes.size;
  for (size_t i = 0; i < phonemes.size; ++i) weight += (size_t)is_one_of(phonemes.at[i], "AIOQWYʤʧ");
  return weight;
}

/* Replace the marks of primary and secondary stress; 0 removes the secondary one. */
static string with_marks(work *w, string phonemes, int32_t primary, int32_t secondary) {
  builder result = {0};
  for (size_t i = 0; i < phonemes.size; ++i) {
    int32_t symbol = phonemes.at[i];
    symbol = symbol == PRIMARY ? primary : symbol == SECONDARY ? secondary : symbol;
    if (symbol) put_char(w, &result, symbol);
  }
  return some(BUILT(result));
}

string restress(work *w, string phonemes, stress expected) {
  int primary = contains(phonemes, PRIMARY), secondary = contains(phonemes, SECONDARY);
  if (expected == AS_IT_IS) return phonemes;
  if (expected == MUTED) return with_marks(w, phonemes, 0, 0);
  if (expected == LOWERED || (expected <= UNSTRESSED && primary)) return with_marks(w, phonemes, SECONDARY, 0);
  if (!primary && !secondary && expected >= UNSTRESSED) {
    builder result = {0};
    size_t vowel = 0;
    while (vowel < phonemes.size && !is_vowel(phonemes.at[vowel])) ++vowel;
    if (vowel == phonemes.size) return phonemes;
    put(w, &result, slice(phonemes, 0, vowel));
    put_char(w, &result, expected > STRESSED ? PRIMARY : SECONDARY);
    put(w, &result, slice(phonemes, vowel, phonemes.size));
    return BUILT(result);
  }
  return expected >= STRESSED && !primary ? with_marks(w, phonemes, PRIMARY, PRIMARY) : phonemes;
}
