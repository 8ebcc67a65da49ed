/** St. and Dr. by what stands around them: Saint John or Main Street, Doctor Hall or Mill Drive. */

import { Pattern, back, charAt, endOf, isDigit, isUpper } from "../python.js";
import { edit } from "../source.js";

const ROADS = {
  St: "Street", Dr: "Drive", Ave: "Avenue", Av: "Avenue", Blvd: "Boulevard", Rd: "Road", Ln: "Lane",
  Hwy: "Highway", Sq: "Square", Pkwy: "Parkway",
};
const ROAD = new Pattern("(?<!\\w)(?P<short>St|Dr|Ave|Av|Blvd|Rd|Ln|Hwy|Sq|Pkwy)(?P<dot>\\.)?(?!\\w|\\.)");
const BEFORE = new Pattern("(?P<word>\\d{1,3}(?:st|nd|rd|th)|[^\\W\\d_][\\w'’]{0,30}) $");
const AFTER = new Pattern(" (?P<word>[A-Z][\\w'’]*)");
// Capitalised, and no name of a street: what begins a sentence, or has a saint behind it.
const NO_STREETS = new Set(
  (
    "A An And As At But By For From He Her His I If In It My Near No Of On Or Our She That The Their They " +
    "This To We When Where With You Mount Port Fort East West North South Lake Sault Bay New Saint Dr Mr " +
    "Mrs Ms Prof Ask Call Tell See Visit Is Was Said"
  ).split(" "),
);
const SENTENCES = new Set(
  "He She It They We I You The A An This That These Those In On At But And Then There".split(" "),
);

/** A name before it makes it a street, a name behind it a saint; else it stays as it is. @param {string} text */
export function* streets(text) {
  for (const match of ROAD.finditer(text)) {
    const end = endOf(match);
    const name = BEFORE.search(text.slice(back(text, match.index, 33), match.index))?.groups.word ?? "";
    const follows = AFTER.match(text, end)?.groups.word ?? "";
    const ends = end === text.length || SENTENCES.has(follows);
    const first = charAt(name, 0);
    const named = (isUpper(first) || isDigit(first)) && !NO_STREETS.has(name);
    const { short, dot } = match.groups;
    if (named && (ends || short !== "Dr" || !follows)) {
      yield edit([match.index, end], ROADS[short] + (dot && ends ? "." : ""));
    } else if (short === "St" && follows && !SENTENCES.has(follows)) {
      yield edit([match.index, end], "Saint");
    }
  }
}
