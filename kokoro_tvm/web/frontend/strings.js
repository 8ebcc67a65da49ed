/** Strings of phonemes as tokens. */

import { Pattern, endOf, lstrip } from "./python.js";
import { MARKS } from "../marks.js";

const MARK = [...MARKS].join("");
const PARTS = new Pattern(`[${MARK}]+|[^\\s${MARK}]+`);

/** A string of phonemes as tokens, words and marks apart; their text and spans are the string's own.
 * @param {string} phonemes @returns {import("./tokens.js").Token[]} */
export function tokensOf(phonemes) {
  const leading = phonemes.length - lstrip(phonemes).length;
  const blank = { text: "", start: 0, end: 0, phonemes: "", space: phonemes.slice(0, leading), tag: "", origin: "" };
  const found = [...PARTS.finditer(phonemes)];
  const tokens = found.map((part, place) => {
    const next = place + 1 < found.length ? found[place + 1].index : phonemes.length;
    const space = phonemes.slice(endOf(part), next);
    return { text: part[0], start: part.index, end: endOf(part), phonemes: part[0], space, tag: "", origin: "given" };
  });
  return leading ? [blank, ...tokens] : tokens;
}
