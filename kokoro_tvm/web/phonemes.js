/** Phoneme strings and their token ids. */

import { isAlpha } from "./characters.js";

/** Symbols of phonemes -> tokens of the model. @typedef {Map<string, number>} Vocabulary */

/** Sort symbols by code point. @param {Iterable<string>} symbols */
export const sorted = (symbols) => [...symbols].sort((a, b) => (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0));

/**
 * Return token ids with the 0 that the model expects at both ends. Unknown symbols are skipped.
 * @param {string} phonemes
 * @param {Vocabulary} vocabulary
 * @returns {number[]}
 */
export function encode(phonemes, vocabulary) {
  const known = [...phonemes].filter((symbol) => vocabulary.has(symbol));
  return [0, ...known.map((symbol) => vocabulary.get(symbol) ?? 0), 0];
}

/** Return whether phonemes have a sound, not only marks. @param {string} phonemes */
export const sounds = (phonemes) => [...phonemes].some(isAlpha);
