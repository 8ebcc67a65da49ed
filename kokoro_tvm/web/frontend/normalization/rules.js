/** How passes over markup and characters find what they rewrite. */

import { endOf, escape } from "../python.js";
import { edit } from "../source.js";

/** @typedef {import("../source.js").Edit} Edit */

/** Edits that put what `reading` says of each match in its place; null leaves a match as it stands.
 * @param {import("../python.js").Pattern} pattern @param {string} text
 * @param {(match: RegExpExecArray) => string | null} reading @returns {Iterable<Edit>} */
export function* rewrite(pattern, text, reading) {
  for (const match of pattern.finditer(text)) {
    const words = reading(match);
    if (words !== null && words !== match[0]) yield edit([match.index, endOf(match)], words);
  }
}

/** Edits of several patterns, in the order of their places. @param {Iterable<Edit>} edits */
export const inOrder = (edits) => [...edits].sort((a, b) => a.start - b.start);

/** A pattern of one of the words, the longest that fits. @param {Iterable<string>} words */
export const anyOf = (words) =>
  `(?:${Array.from(words, escape).sort((a, b) => b.length - a.length).join("|")})`;
