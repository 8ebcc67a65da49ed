/**
 * Letter-to-sound: phonemes of a word that no lexicon has, from its letters.
 *
 * Every letter is read by the longest context that the model knows: the letter, then its neighbours in the order of
 * `contextOf`. This is IGTree with a fixed order (Daelemans, van den Bosch and Weijters, "IGTree: using trees for
 * compression and classification in lazy learning algorithms", 1997). The model comes with the bundle.
 */

import { PRIMARY, SECONDARY, restress } from "./alphabet.js";
import { isAlpha, isAscii, partition } from "./python.js";

const EDGE = "____";

/** What decides how the letter at `place` is read, the weightiest first.
 *
 * before: the phonemes of the letters before it; all that counts is whether one of them was stressed.
 * @param {string} word @param {number} place @param {string} before */
function contextOf(word, place, before) {
  const padded = EDGE + word + EDGE;
  const here = place + EDGE.length;
  const at = (offset) => padded[here + offset];
  const stressed = before.includes(PRIMARY) ? "1" : "0";
  return at(0) + at(1) + at(-1) + stressed + at(2) + at(-2) + at(3) + at(-3) + at(4);
}

/** The letters of a word as a to z, accents taken off; "" where it has others. @param {string} word */
export function plainLetters(word) {
  const letters = [...word.toLowerCase().normalize("NFKD")].filter(isAlpha).join("");
  return isAscii(letters) ? letters : "";
}

/** The model of one English. */
export class Letters {
  /** @param {import("./dictionary.js").Dictionary} contexts beginnings of contexts -> the phonemes of their letter */
  constructor(contexts) {
    this._contexts = contexts;
  }

  /** Phonemes of a word; null where it is not written in Latin letters, or nothing of it is spoken.
   * @param {string} word */
  read(word) {
    const letters = plainLetters(word);
    let spoken = "";
    for (let place = 0; place < letters.length; place++) spoken += this._letter(contextOf(letters, place, spoken));
    if (!spoken.includes(PRIMARY)) return restress(spoken, spoken.includes(SECONDARY) ? 1 : 2) || null;
    const [head, mark, tail] = partition(spoken, PRIMARY);
    return head + mark + tail.replaceAll(PRIMARY, SECONDARY);
  }

  _letter(context) {
    for (let count = context.length; count > 0; count--) {
      const found = this._contexts.get(context.slice(0, count));
      if (typeof found === "string") return found;
    }
    return "";
  }
}
