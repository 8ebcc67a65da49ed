/** Phoneme strings: their token ids and where to divide them. */

import { InputError } from "./errors.js";
import { SPACE, endOf, isAlpha, isSpace, length, quote, strip } from "./characters.js";

/** Symbols of phonemes -> tokens of the model. @typedef {Map<string, number>} Vocabulary */

const CLOSING = "[)\\]}”’»\"']*";
// In order of preference; a part ends with the match. The last one is for texts without space after marks.
const BOUNDARIES = [
  new RegExp(`(?<![.!?…])[.!?…]+${CLOSING}[${SPACE}]+`, "gu"),
  new RegExp(`(?<![;:])[;:]+${CLOSING}[${SPACE}]+`, "gu"),
  new RegExp(`(?:(?<![,—])[,—]+${CLOSING}[${SPACE}]+|(?<![${SPACE}])[${SPACE}]+(?=—))`, "gu"),
  new RegExp(`[${SPACE}]+`, "gu"),
  new RegExp(`[.!?…;:,—]+${CLOSING}`, "gu"),
];

/**
 * Return phonemes with tabs and line breaks as spaces. Throws an InputError if they are empty or contain NUL.
 * @param {string} phonemes
 */
export function clean(phonemes) {
  if (typeof phonemes !== "string") throw new InputError(`Phonemes are a string, not ${typeof phonemes}.`);
  if (phonemes.includes("\0")) throw new InputError("The phonemes hold a NUL byte. Remove it: it stands for no sound.");
  const spaced = phonemes.replace(/[\t\r\n\v\f]+/g, " ");
  if (!strip(spaced)) throw new InputError("There is nothing to speak: the phonemes are empty.");
  return spaced;
}

/**
 * Return whether the model knows a symbol other than the space.
 * @param {string} phonemes
 * @param {Vocabulary} vocabulary
 */
export const hasSound = (phonemes, vocabulary) =>
  [...phonemes].some((symbol) => vocabulary.has(symbol) && !isSpace(symbol));

/** List symbols for a message. @param {string[]} symbols */
export const listed = (symbols) => symbols.map((symbol) => `${quote(symbol)} (${codeOf(symbol)})`).join(", ");

/** @param {string} symbol */
export const codeOf = (symbol) =>
  `U+${(symbol.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

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

/**
 * Return the place nearest to the middle at the best kind of boundary with sounds on both sides, or null.
 * @param {string} phonemes
 * @returns {number | null}
 */
export function middleCut(phonemes) {
  const sounds = [...phonemes.matchAll(/\p{L}/gu)].map((match) => match.index);
  if (!sounds.length) return null;
  const [first, last] = [sounds[0], sounds[sounds.length - 1]];
  for (const boundary of BOUNDARIES) {
    const cuts = Array.from(phonemes.matchAll(boundary), endOf).filter((cut) => first < cut && cut <= last);
    if (cuts.length) {
      const whole = length(phonemes);
      const off = cuts.map((cut) => Math.abs(2 * length(phonemes.slice(0, cut)) - whole));
      return cuts[off.indexOf(Math.min(...off))];
    }
  }
  return null;
}

/** Return whether phonemes have a sound, not only marks. @param {string} phonemes */
export const sounds = (phonemes) => [...phonemes].some(isAlpha);
