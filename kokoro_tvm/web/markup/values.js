/** Values in markup: times, factors, phonemes. An InputError says what to write instead. */

import { InputError } from "../errors.js";
import { split, strip } from "../characters.js";
import { quoted } from "../notices.js";
import { listed, sorted } from "../phonemes.js";
import { FACTORS, LONGEST_PAUSE } from "../limits.js";

const TIME = /^\+?(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})[ \t\n\r\f\v]*(s|ms)$/i;
const FACTOR = /^(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(%?)$/;
const CHANGE = /^([-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))(%|st)$/;
// Azure's documentation gives these factors for the names.
const RATES = new Map([["x-slow", 0.5], ["slow", 0.64], ["medium", 1], ["default", 1], ["fast", 1.55], ["x-fast", 2]]);
const PITCHES = new Map([
  ["x-low", 0.55], ["low", 0.8], ["medium", 1], ["default", 1], ["high", 1.2], ["x-high", 1.45],
]);

const IPA = [
  ["\u0361", ""], ["\u035c", ""], ["tʃ", "ʧ"], ["dʒ", "ʤ"], ["g", "ɡ"], ["'", "ˈ"], [".", ""], ["‿", ""],
];
const IPA_ENGLISH = [["eɪ", "A"], ["aɪ", "I"], ["aʊ", "W"], ["oʊ", "O"], ["ɔɪ", "Y"], ["ɚ", "əɹ"], ["r", "ɹ"]];
const IPA_BRITISH = [["əʊ", "Q"]];
const IPA_AMERICAN = [["əʊ", "O"], ["ɝː", "ɜɹ"], ["ɝ", "ɜɹ"], ["ɜːɹ", "ɜɹ"], ["ɜː", "ɜɹ"], ["ː", ""]];
const IPA_OTHERS = [["ts", "ʦ"], ["dz", "ʣ"]];

/**
 * Return the result of `compute`, and add the place to its errors.
 * @template T
 * @param {number} line
 * @param {number} column
 * @param {() => T} compute
 * @returns {T}
 */
export function at(line, column, compute) {
  try {
    return compute();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(`The text has a mistake in line ${line}, column ${column}: ${error.message}`);
  }
}

/**
 * Parse a time such as "0.5s" or "500ms" to seconds; `example` is for the message.
 * @param {string} value
 * @param {string} example
 */
export function seconds(value, example) {
  const match = TIME.exec(strip(value));
  if (!match) throw new InputError(`${quoted(value)} is no length of a pause. Write ${example}.`);
  const result = Number(match[1]) / (match[2].toLowerCase() === "ms" ? 1000 : 1);
  if (result > LONGEST_PAUSE) {
    throw new InputError(`A pause of ${quoted(value)} is too long; ${LONGEST_PAUSE} s is the longest.`);
  }
  return result;
}

/** Parse a factor of the speed: "1.2", "120%", "+20%", or a name of SSML. @param {string} value */
export function rate(value) {
  value = strip(value);
  const named = RATES.get(value);
  if (named !== undefined) return named;
  const match = FACTOR.exec(value);
  if (match) return limited(Number(match[1]) / (match[2] ? 100 : 1), "speed", value);
  const change = CHANGE.exec(value);
  if (change?.[2] === "%") return limited(1 + Number(change[1]) / 100, "speed", value);
  throw new InputError(`${quoted(value)} is no speed. Write a factor or a percentage, 1.2 or 120%.`);
}

/**
 * Parse a factor of the pitch: a name of SSML, or a change of `around`, "+10%" or "-2st". Return null for a pitch in
 * Hz.
 * @param {string} value
 * @param {number} around
 */
export function pitch(value, around) {
  value = strip(value);
  const named = PITCHES.get(value);
  if (named !== undefined) return named;
  const change = CHANGE.exec(value);
  if (change) {
    const number = Number(change[1]);
    const factor = change[2] === "%" ? 1 + number / 100 : 2 ** (Math.min(Math.max(number, -99), 99) / 12);
    return limited(around * factor, "pitch", value);
  }
  if (/^[-+]?[\d.]+[ \t\n\r\f\v]*hz$/.test(value.toLowerCase())) return null;
  throw new InputError(
    `${quoted(value)} is no pitch. Write a change such as +10% or -2st, or a name such as high.`,
  );
}

/**
 * Return phonemes with single spaces; throws an InputError for an unknown symbol.
 * @param {string} phonemes
 * @param {import("../phonemes.js").Vocabulary} symbols
 */
export function checkSymbols(phonemes, symbols) {
  phonemes = split(phonemes).join(" ");
  const unknown = listedSymbols([...phonemes].filter((symbol) => !symbols.has(symbol) && symbol !== " "));
  if (unknown) {
    throw new InputError(
      `The model does not know these phonemes of ${quoted(phonemes)}: ${unknown}. Write them in ` +
        "misaki's alphabet.",
    );
  }
  return phonemes;
}

/** List the first eight symbols for a message, or "". @param {string[]} symbols */
export const listedSymbols = (symbols) => listed(sorted(new Set(symbols)).slice(0, 8));

/**
 * Translate phonemes of the IPA to the alphabet of a language's voices.
 *
 * Equal symbols stay; syllable marks are dropped.
 * @param {string} phonemes
 * @param {string} code
 */
export function fromIpa(phonemes, code) {
  const own = { a: [...IPA_ENGLISH, ...IPA_AMERICAN], b: [...IPA_ENGLISH, ...IPA_BRITISH] }[code] ?? IPA_OTHERS;
  return [...IPA, ...own].reduce((result, [symbols, ours]) => result.replaceAll(symbols, ours), phonemes);
}

function limited(factor, what, value) {
  const [low, high] = FACTORS;
  if (!(low <= factor && factor <= high)) {
    throw new InputError(`${quoted(value)} is no ${what}: the factor should lie within ${low} and ${high.toFixed(1)}.`);
  }
  return factor;
}
