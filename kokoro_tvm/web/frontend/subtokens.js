/**
 * Cuts a word where a lexicon may know its parts: at capitals, figures, hyphens and apostrophes.
 *
 * The places are those of misaki 0.9.4 (hexgrad, Apache-2.0; misaki/en.py). A word is first written as its classes,
 * one letter a character.
 */

import { remembered } from "./remembered.js";

// U capital, l small letter, o letter without case, 9 figure, . and , as they are, - or _, ' any apostrophe,
// x anything else.
const LETTER = "[Ulo]";
const PARTS = new RegExp(
  [
    "^'+",
    "U(?=Ul)",
    "(?:^-)?(?:9?[,.]?9)+",
    "[-_]+",
    "'{2,}",
    `${LETTER}*?(?:'${LETTER})*?l(?=U)`,
    `${LETTER}+(?:'${LETTER})*`,
    "[.,x]",
    "'+$",
  ].join("|"),
  "g",
);
/** @type {[RegExp, string][]} */
const CLASSES = [[/\p{Lu}/u, "U"], [/\p{Ll}/u, "l"], [/\p{L}/u, "o"], [/\p{Nd}/u, "9"]];
const THEMSELVES = { "-": "-", _: "_", ".": ".", ",": ",", "'": "'", "‘": "'", "’": "'" };

const classOf = (char) => THEMSELVES[char] ?? CLASSES.find(([pattern]) => pattern.test(char))?.[1] ?? "x";

/** The parts of a word, each with its place; an apostrophe between figures belongs to none.
 * @type {(word: string) => [number, string][]} */
export const cut = remembered((word) => {
  const chars = [...word];
  const places = [0];
  for (const char of chars) places.push(places[places.length - 1] + char.length);
  return Array.from(chars.map(classOf).join("").matchAll(PARTS), (match) => {
    const [start, end] = [places[match.index], places[match.index + match[0].length]];
    return [start, word.slice(start, end)];
  });
});
