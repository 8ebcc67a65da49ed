/** What a caller should know though nothing failed: words that were guessed, symbols left out. */

import { head, split } from "./characters.js";

/** Takes a notice, a sentence. @typedef {(message: string) => void} Warn */

/** The beginning of a text as a message shows it: in one line, of `most` characters.
 * @param {string} text @param {number} [most] */
export const quoted = (text, most = 40) => `'${head(split(text).join(" "), most)}'`;
