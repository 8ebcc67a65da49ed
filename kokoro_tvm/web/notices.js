/** Notices for the caller: guessed words, omitted symbols. */

import { head, split } from "./characters.js";

/** Takes a notice, one sentence, and the words of the text that it is about. @typedef {(notice: string, words?: string[]) => void} Warn */

/**
 * Return the first `most` characters of a text, with "…" if there are more.
 * @param {string} text
 * @param {number} [most]
 */
export function truncate(text, most = 40) {
  const shown = head(text, most);
  return shown.length < text.length ? `${shown}…` : text;
}

/**
 * Return the beginning of a text in one quoted line, for a message.
 * @param {string} text
 * @param {number} [most]
 */
export const quoted = (text, most = 40) => `'${truncate(split(text).join(" "), most)}'`;
