/** Fractions: one character, or figures with a slash, behind a whole number perhaps. */

import { cardinal, ordinal, toInt } from "../numerals.js";
import { Pattern } from "../python.js";
import { rewrite } from "./rules.js";

const FRACTION = new Pattern(
  "(?:(?<![\\w.,/])(?P<whole>\\d{1,9})[ \\u2009]?)?(?P<char>[¼½¾⅐-⅞])(?!\\d)" +
    "|(?<![\\w.,/–-])(?P<marks>\\d{1,2}(?:\\.\\d)?)/10(?![\\w/⁄]|\\.\\d)" +
    "|(?<![\\w.,/–-])(?:(?P<before>\\d{1,9})[ -])?(?P<above>\\d{1,2})[/⁄](?P<below>\\d{1,2})(?![\\w/⁄]|\\.\\d)",
);
const PARTS = new Set([2, 3, 4, 5, 6, 7, 8, 9, 16, 32, 64]); // "9/11" is a day
const VALUES = {
  "¼": [1, 4], "½": [1, 2], "¾": [3, 4], "⅐": [1, 7], "⅑": [1, 9], "⅒": [1, 10], "⅓": [1, 3], "⅔": [2, 3],
  "⅕": [1, 5], "⅖": [2, 5], "⅗": [3, 5], "⅘": [4, 5], "⅙": [1, 6], "⅚": [5, 6], "⅛": [1, 8], "⅜": [3, 8],
  "⅝": [5, 8], "⅞": [7, 8],
};

/** ½ is one half, 1½ is 1 and a half, 3/4 is three quarters; 9/10 is 9 out of 10. @param {string} text */
export const fractions = (text) => rewrite(FRACTION, text, ({ groups }) => spoken(groups));

/** @param {any} groups of a match */
function spoken({ marks, char, whole, before, above, below }) {
  if (marks) return `${marks} out of 10`;
  const [over, under] = char ? VALUES[char] : [toInt(above), toInt(below)];
  if (!char && !(over > 0 && over < under && PARTS.has(under))) return null;
  const rank = under === 4 ? "quarter" : ordinal(under).join(" ");
  const name = under === 2 ? "half" : rank + (over === 1 ? "" : "s");
  const count = char ? whole : before;
  if (count === undefined) return `${cardinal(over).join(" ")} ${name}`;
  return `${count} and ${over === 1 && under !== 8 ? "a" : cardinal(over).join(" ")} ${name}`;
}
