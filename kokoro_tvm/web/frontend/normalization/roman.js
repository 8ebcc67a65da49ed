/** Roman numerals, where what stands before them says that they are none else. */

import { ordinal } from "../numerals.js";
import { Pattern, spanOf } from "../python.js";
import { anyOf, editOf } from "./rules.js";

const COUNTED = `
Chapter Part Book Volume Vol. Act Scene Section Article Title Appendix Phase Type Class Level Episode
Figure Table War Bowl Canto Psalm Mark Apollo Rocky Fantasy Schedule Grade Lesson Unit Round Stage
Symphony Sonata Division
`;
const RULERS = `
Henry Louis George Edward Charles James William Richard Elizabeth Napoleon Paul Benedict Pius Leo Gregory
Innocent Clement Urban Alexander Nicholas Peter Catherine Frederick Friedrich Ferdinand Philip Felipe
Alfonso Francis Carlos Christian Gustav Ramesses Ramses Ptolemy Cleopatra Darius Xerxes Otto Wilhelm
Ludwig Leopold Emmanuel Umberto Harald Henri Constantine Justinian Theodosius Ivan Stephen Robert Sixtus
Boniface Celestine Eugene Mary Margrethe Haakon Edgar Harold John Joseph Thomas Albert Rainier Selim
Mehmed Suleiman Murad
`;
const words = (list) => anyOf(list.trim().split(/\s+/));
const numeral = (name) =>
  `(?P<${name}>(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))` +
  "(?!\\w|['’](?!s\\b)\\w|\\.\\w)";
const NUMERAL = new Pattern(
  `(?<!\\w)(?:(?P<counted>${words(COUNTED)}|World War) ${numeral("roman")}` +
    `|(?P<ruler>${words(RULERS)})(?: [A-Z][a-z]{1,20})? ${numeral("ruling")}` +
    `|${numeral("century")}(?= (?:century|Century|centuries))` +
    "|(?P<name>[A-Z][a-z]{3,20}) (?P<part>II|III|VII|VIII|IX|XI|XII|XIII|XIV|XV|XVI)(?!\\w))",
);
const ONE = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };
const AFTER_ONE = new Pattern(
  "(?<!\\s)\\s*(?:[^\\sa-zA-Z]|$| (?:of|and|is|was|to|in|had|ended|began|reigned|ruled|died)\\b)",
);

/** Henry VIII is the eighth, Chapter IV is 4; "I" is a number only where no sentence goes on with it.
 * @param {string} text */
export function* numerals(text) {
  for (const match of NUMERAL.finditer(text)) {
    for (const group of ["roman", "ruling", "century", "part"]) {
      const written = match.groups[group];
      if (!written || (written === "I" && !AFTER_ONE.match(text, spanOf(match, group)[1]))) continue;
      const value = valueOf(written);
      const rank = ordinal(value).join(" ");
      yield editOf(match, group, { ruling: `the ${rank}`, century: rank }[group] ?? String(value));
    }
  }
}

function valueOf(numeral) {
  const values = Array.from(numeral, (letter) => ONE[letter]);
  return values.reduce((sum, value, place) => sum + (value < Math.max(...values.slice(place)) ? -value : value), 0);
}
