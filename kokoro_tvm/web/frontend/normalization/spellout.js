/** Numbers in words by the spellout rules of Unicode CLDR (https://www.unicode.org/reports/tr35/, part 3). */

import { Pattern, bisect, endOf } from "../python.js";

/**
 * Name of a rule set to its rules in order: the least number it is for, its divisor, and its text.
 *
 * @typedef {Map<string, [bigint, bigint, string][]>} RuleSets
 */

// What a rule's text has between its letters: a part for a remainder, numbers by a rule set, a plural.
const PART = new Pattern(
  "\\[(?P<rest>[^\\[\\]]*)\\]|(?P<high>←(?P<by>[^←]*)←)|(?P<low>→(?P<with>[^→]*)→(?P<before>→?))|=(?P<as>[^=]*)=" +
    "|\\$\\(cardinal,one\\{(?P<one>[^{}]*)\\}other\\{(?P<other>[^{}]*)\\}\\)\\$",
);

/** Words of a whole number, which is not negative, by the rule set `name`; null where the set has no words for it.
 * @param {bigint} number @param {RuleSets} rules @param {string} name @returns {string | null} */
export function spellOut(number, rules, name) {
  const place = bisect(rules.get(name), number, ([least]) => least) - 1;
  return place < 0 ? null : apply(number, rules, name, place);
}

function apply(number, rules, name, place) {
  const [base, divisor, text] = rules.get(name)[place];
  if (number % divisor === 0n && base % divisor !== 0n && text.includes("→") && place) {
    return apply(number, rules, name, place - 1); // the rule for a remainder does not fit
  }
  return textOf(text, number, rules, name, place);
}

function textOf(text, number, rules, name, place) {
  const divisor = rules.get(name)[place][1];
  let [words, done] = ["", 0];
  for (const match of PART.finditer(text)) {
    const part = match.groups;
    words += text.slice(done, match.index);
    done = endOf(match);
    let spoken;
    if (part.one !== undefined) spoken = number / divisor === 1n ? part.one : part.other;
    else if (part.rest !== undefined) spoken = number % divisor ? textOf(part.rest, number, rules, name, place) : "";
    else if (part.high) spoken = spellOut(number / divisor, rules, part.by || name);
    else if (part.before) spoken = apply(number % divisor, rules, name, place - 1);
    else if (part.low) spoken = spellOut(number % divisor, rules, part.with || name);
    else spoken = rules.has(part.as) ? spellOut(number, rules, part.as) : null; // or a pattern of figures, no words
    if (spoken === null) return null;
    words += spoken;
  }
  return words + text.slice(done);
}
