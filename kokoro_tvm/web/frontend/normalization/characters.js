/** Marks that only look different: composed letters, apostrophes, dashes. */

import { Pattern, digit } from "../python.js";
import { rewrite } from "./rules.js";

// A letter with combining marks, and the parts of a Korean syllable.
const DECOMPOSED = new Pattern(
  "[^\u0300-\u036f\u0900-\u0903][\u0300-\u036f\u093c\u3099\u309a]{1,8}|[\u1100-\u11ff]{2,3}",
);
const APOSTROPHE = new Pattern("(?<=[^\\W\\d_])[’ʼ´`＇‘](?=[^\\W\\d_])");
const DASH = new Pattern("(?<=[^\\s-])(?: ?---? ?)(?=[^\\s>-])|(?<=[^\\s\\d-]) - (?=[^\\s\\d-])");
const FIGURE = new Pattern("(?=[\\U00010000-\\U0010ffff])\\d");

/** Letters with marks behind them are one character, as far as there is one (NFC). @param {string} text */
export const composed = (text) => rewrite(DECOMPOSED, text, (match) => match[0].normalize("NFC"));

/** Inside a word, what looks like an apostrophe is one. @param {string} text */
export const apostrophes = (text) => rewrite(APOSTROPHE, text, () => "'");

/** Two hyphens, and one between spaces, are a dash. @param {string} text */
export const dashes = (text) => rewrite(DASH, text, () => " — ");

/** Figures of two units, such as 𝟛, are 0 to 9, so that the rules' places are those of the text. @param {string} text */
export const figures = (text) => rewrite(FIGURE, text, (match) => String(digit(match[0])));
