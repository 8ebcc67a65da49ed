/** What of a text no token speaks, so that nothing is lost without a note. */

import { MARKS } from "../marks.js";
import { isSpace } from "./python.js";

const RUN = /[\p{L}\p{N}\p{Sc}\p{Sm}\p{So}\p{Mc}\p{Mn}]+/gu;
const MARK = /\p{M}/u; // such as a vowel sign, which goes with the letter it stands on
const SILENT = new Set(["given", "user lexicon"]); // origins of words that may be

/** Letters and figures of a text without markup that none of its tokens speaks, as far as they stand together, and signs
 * that have a name.
 * @param {import("./source.js").SourceText} source @param {import("./tokens.js").Token[]} tokens */
export function* leftOut(source, tokens) {
  const first = source.starts[0] ?? 0;
  const spoken = new Uint8Array((source.ends[source.ends.length - 1] ?? 0) - first);
  for (const { start, end, phonemes, origin } of tokens) {
    if (SILENT.has(origin) || [...phonemes].some((symbol) => !MARKS.has(symbol) && !isSpace(symbol))) {
      spoken.fill(1, start - first, end - first);
    }
  }
  for (const { 0: run, index } of source.text.matchAll(RUN)) {
    let [lost, place] = ["", index];
    for (const char of run) {
      const counts = lost || !MARK.test(char);
      if (counts && !spoken.subarray(source.starts[place] - first, source.ends[place] - first).includes(1)) {
        lost += char;
      } else if (lost) {
        yield lost;
        lost = "";
      }
      place += char.length;
    }
    if (lost) yield lost;
  }
}
