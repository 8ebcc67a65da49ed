/** How passes find what they rewrite, and the words and patterns that several of them share. */

import { cardinal } from "../numerals.js";
import { digit, endOf, escape, partition, spanOf } from "../python.js";
import { edit } from "../source.js";

/** @typedef {import("../source.js").Edit} Edit */

// Repetitions are bounded, and patterns do not begin inside a word or a number: time stays linear.
/** A number in figures, with commas perhaps. */
export const NUMBER = "(?:\\d{1,3}(?:,\\d{3}){1,5}|\\d{1,15})(?:\\.\\d{1,9})?";
export const MONTHS = (
  "January February March April May June July August September October November December"
).split(" ");

/** Edits that put what `reading` says of each match in its place; null leaves a match as it stands.
 * @param {import("../python.js").Pattern} pattern @param {string} text
 * @param {(match: RegExpExecArray) => string | null} reading @returns {Iterable<Edit>} */
export function* rewrite(pattern, text, reading) {
  for (const match of pattern.finditer(text)) {
    const words = reading(match);
    if (words !== null && words !== match[0]) yield edit([match.index, endOf(match)], words);
  }
}

/** An edit of a group of a match. @param {RegExpExecArray} match @param {string} group @param {string} words */
export const editOf = (match, group, words) => edit(spanOf(match, group), words);

/** Edits of several patterns, in the order of their places. @param {Iterable<Edit>} edits */
export const inOrder = (edits) => [...edits].sort((a, b) => a.start - b.start);

/** A pattern of one of the words, the longest that fits. @param {Iterable<string>} words */
export const anyOf = (words) =>
  `(?:${Array.from(words, escape).sort((a, b) => b.length - a.length).join("|")})`;

/** A number that is no year: with a comma where it has four figures. @param {string} number */
export function grouped(number) {
  const [whole, point, rest] = partition(number, ".");
  return [...whole].length === 4 && whole[0] !== "0" ? `${whole[0]},${whole.slice(1)}${point}${rest}` : number;
}

/** Figures one by one, as a telephone number is read. @param {string} number */
export const figures = (number) =>
  Array.from(number, (figure) => (figure === "0" ? "oh" : cardinal(digit(figure) ?? 0)[0])).join(" ");

/** A rank in figures: 21st. @param {number} number */
export function ordinal(number) {
  const ending = number % 100 > 10 && number % 100 < 20 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[number % 10];
  return `${number}${ending ?? "th"}`;
}
