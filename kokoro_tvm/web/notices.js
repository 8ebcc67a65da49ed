/** What a caller should know though nothing failed: words that were guessed, symbols left out. */

import { head, split } from "./characters.js";

/** Takes a notice, a sentence. @typedef {(message: string) => void} Warn */

/** The first `most` characters of a text, and "…" if there are more. @param {string} text @param {number} [most] */
export function truncate(text, most = 40) {
  const shown = head(text, most);
  return shown.length < text.length ? `${shown}…` : text;
}

/** The beginning of a text as a message shows it: in one line, of `most` characters.
 * @param {string} text @param {number} [most] */
export const quoted = (text, most = 40) => `'${truncate(split(text).join(" "), most)}'`;
