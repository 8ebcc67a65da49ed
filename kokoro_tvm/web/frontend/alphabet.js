/**
 * The phonemes of both Englishes, as misaki's voices know them, and how stress is put on them.
 *
 * The alphabet and the rules are those of misaki 0.9.4 (hexgrad, Apache-2.0).
 */

export const PRIMARY = "ˈ";
export const SECONDARY = "ˌ";
export const VOWELS = new Set("AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ");
export const CONSONANTS = new Set("bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ");

const DIPHTHONGS = new Set("AIOQWYʤʧ"); // two symbols' worth of sound in one

/** How long phonemes take to say: 2 for a diphthong or an affricate, 1 for every other symbol.
 * @param {string} phonemes */
export function weight(phonemes) {
  return [...phonemes].reduce((sum, symbol) => sum + (DIPHTHONGS.has(symbol) ? 2 : 1), 0);
}

/**
 * `phonemes` with the requested stress.
 *
 * Below -1: none. -1: the primary becomes secondary. -0.5 and 0: likewise, where there is one. 0 to 1: a word
 * without stress gets a secondary one. From 1 on: a secondary becomes the primary. Above 1: a word without stress
 * gets a primary one. null: as it is.
 *
 * @param {string} phonemes @param {number | null} stress
 */
export function restress(phonemes, stress) {
  if (stress === null) return phonemes;
  const [primary, secondary] = [phonemes.includes(PRIMARY), phonemes.includes(SECONDARY)];
  if (stress < -1) return phonemes.replaceAll(PRIMARY, "").replaceAll(SECONDARY, "");
  if (stress === -1 || ((stress === 0 || stress === -0.5) && primary)) {
    return phonemes.replaceAll(SECONDARY, "").replaceAll(PRIMARY, SECONDARY);
  }
  if (!primary && !secondary && stress >= 0) {
    const vowel = [...phonemes].find((symbol) => VOWELS.has(symbol));
    if (vowel === undefined) return phonemes;
    const place = phonemes.indexOf(vowel);
    return phonemes.slice(0, place) + (stress > 1 ? PRIMARY : SECONDARY) + phonemes.slice(place);
  }
  return stress >= 1 && !primary ? phonemes.replaceAll(SECONDARY, PRIMARY) : phonemes;
}
