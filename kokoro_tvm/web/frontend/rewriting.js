/** Ordered rewrite rules over a string, as phonologists write them: `focus -> replacement / left _ right`. */

/** Stands at both ends of every word. */
export const EDGE = "#";

/**
 * Characters, whether it is those (or all others), and how often it stands there, at least and at most.
 *
 * @typedef {[string, boolean, number, number]} Item
 */

/**
 * focus: items of one character each; left (from the focus outwards), right: what stands beside it; replacement: "&" in it
 * is what was found.
 *
 * @typedef {[Item[], string, Item[], Item[]]} Rule
 */

/**
 * One reading of a string from left to right. At each place the first rule that fits replaces its focus; what none fits
 * stays.
 *
 * unless: the pass is left out where the string has one of these; feeding: what stands to the left is seen as it was
 * rewritten, else as it was; what stands to the right always as it was.
 */
export class Pass {
  /** The pass that the front end's file has. @param {{rules: Rule[], unless: string, feeding: boolean}} data */
  constructor({ rules, unless, feeding }) {
    this._unless = unless;
    this._feeding = feeding;
    /** @type {Map<string, Rule[]>} */
    this._byFirst = new Map();
    for (const rule of rules) {
      for (const char of rule[0][0][0]) this._byFirst.set(char, [...(this._byFirst.get(char) ?? []), rule]);
    }
  }

  /** The string, rewritten. @param {string} text */
  apply(text) {
    if ([...this._unless].some((char) => text.includes(char))) return text;
    /** @type {string[]} */
    const out = [];
    const before = this._feeding ? out : text;
    let place = 0;
    while (place < text.length) {
      const left = (this._feeding ? out.length : place) - 1;
      const rule = this._byFirst.get(text[place])?.find(
        ([focus, , before_, behind]) =>
          fits(focus, text, place, 1) && fits(behind, text, place + focus.length, 1) && fits(before_, before, left, -1),
      );
      const end = place + (rule ? rule[0].length : 1);
      const found = text.slice(place, end);
      out.push(...(rule ? rule[1].replaceAll("&", found) : found).split(""));
      place = end;
    }
    return out.join("");
  }
}

/** Whether the items stand there in the direction of step, each as often as it can.
 * @param {Item[]} items @param {string | string[]} text @param {number} place @param {number} step */
function fits(items, text, place, step) {
  for (const [chars, among, least, most] of items) {
    let found = 0;
    while (found < most && 0 <= place && place < text.length && chars.includes(text[place]) === among) {
      found += 1;
      place += step;
    }
    if (found < least) return false;
  }
  return true;
}
