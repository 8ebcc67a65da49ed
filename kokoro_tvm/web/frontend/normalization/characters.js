/** Marks that only look different: composed letters, apostrophes, dashes; and words that never end. */

import { Pattern, digit, head } from "../python.js";
import { rewrite } from "./rules.js";

// A letter with combining marks, and the parts of a Korean syllable.
const DECOMPOSED = new Pattern(
  "[^\u0300-\u036f\u0900-\u0903][\u0300-\u036f\u093c\u3099\u309a]{1,8}|[\u1100-\u11ff]{2,3}",
);
const APOSTROPHE = new Pattern("(?<=[^\\W\\d_])[’ʼ´`＇‘](?=[^\\W\\d_])");
const DASH = new Pattern("(?<=[^\\s-])(?: ?---? ?)(?=[^\\s>-])|(?<=[^\\s\\d-]) - (?=[^\\s\\d-])");
const FIGURE = new Pattern("(?=[\\U00010000-\\U0010ffff])\\d");
// Of scripts with spaces between words.
const WORD = new Pattern("[^\\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+");
const [LONGEST_BYTES, PIECE] = [128, 24]; // as in Python, where espeak-ng drops what a word has beyond about 160 bytes
const REPEATED = /(.)\1{3,}/gu;

/** Letters with marks behind them are one character, as far as there is one (NFC). @param {string} text */
export const composed = (text) => rewrite(DECOMPOSED, text, (match) => match[0].normalize("NFC"));

/** Inside a word, what looks like an apostrophe is one. @param {string} text */
export const apostrophes = (text) => rewrite(APOSTROPHE, text, () => "'");

/** Two hyphens, and one between spaces, are a dash. @param {string} text */
export const dashes = (text) => rewrite(DASH, text, () => " — ");

/** Figures of two units, such as 𝟛, are 0 to 9, so that the rules' places are those of the text. @param {string} text */
export const figures = (text) => rewrite(FIGURE, text, (match) => String(digit(match[0])));

/** A word of more than 128 bytes of UTF-8 is several, with no more than three of a character in a row.
 * @param {string} text */
export const divided = (text) => rewrite(WORD, text, ({ 0: word }) => {
  if (word.length * 3 <= LONGEST_BYTES || new TextEncoder().encode(word).length <= LONGEST_BYTES) return null;
  const pieces = [];
  for (let rest = word.replace(REPEATED, "$1$1$1"); rest; rest = rest.slice(pieces[pieces.length - 1].length)) {
    pieces.push(head(rest, PIECE));
  }
  return pieces.join(" ");
});
