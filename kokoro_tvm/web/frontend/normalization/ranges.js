/** What stands between two numbers, and before one: "to", "minus", "number", "about". */

import { Pattern, back, spanOf } from "../python.js";
import { NUMBER, editOf } from "./rules.js";

const ENDING = "(?:st|nd|rd|th|s)?";
const RANGE = new Pattern(
  `(?<![\\w.,–-])[$£€]?${NUMBER}${ENDING}%?(?P<between>[–-]|\\s[–-]\\s|–\\s|\\s–)(?=${NUMBER}${ENDING}(?![\\w–-]))` +
    "|(?<![^\\s(\\[\\\"“‘'])(?P<minus>[-−])(?=\\.?\\d)" +
    "|(?<![\\w#&])(?P<number>(?:#|№ ?)(?=\\d))" +
    "|(?<!\\S)(?P<about>[~∼] ?(?=[$£€]?\\d))",
);
const SUM = /[=+×÷*]/;
const ABOUT = new Pattern("(?:about|roughly|around|approximately) $", "i");

/** 10-20 is 10 to 20, -5 is minus 5, #5 is number 5, ~5 is about 5. @param {string} text */
export function* ranges(text) {
  const isSum = SUM.test(text);
  for (const match of RANGE.finditer(text)) {
    const { between, minus, number } = match.groups;
    if (between) yield editOf(match, "between", isSum && between === " - " ? " minus " : " to ");
    else if (minus) yield editOf(match, "minus", "minus ");
    else if (number) yield editOf(match, "number", "number ");
    else {
      const before = text.slice(back(text, match.index, 16), spanOf(match, "about")[0]);
      yield editOf(match, "about", ABOUT.search(before) ? "" : "about ");
    }
  }
}
