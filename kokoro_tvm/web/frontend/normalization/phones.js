/** Telephone numbers and postal codes, figure by figure. */

import { toInt } from "../numerals.js";
import { Pattern, back } from "../python.js";
import { figures, rewrite } from "./rules.js";

const NUMBER = new Pattern(
  "(?<![\\w.,+–-])(?:" +
    "(?P<phone>\\+\\d{1,3}(?:[ .-]?\\(\\d{1,5}\\)|[ .-]?\\d{1,5})(?:[ .-]\\d{2,5}){1,5}" + // of any country
    "|(?:1[ .-])?(?:\\(\\d{3}\\) ?|\\d{3}[.-])\\d{3}[ .-]\\d{4}" + // of North America
    "|\\(?0\\d{2,4}\\)? \\d{3,4} ?\\d{3,4}" + // of Britain
    "|\\+\\d{7,15}" +
    "|\\d{5}-\\d{4})" + // an American postal code
    "|(?P<local>(?P<office>\\d{3})-(?P<line>\\d{4})))" +
    "(?![\\w–-]|[.,]\\d)",
);
const GROUPS = new Pattern("\\d+");
const PAGES = new Pattern("(?:p|pages|years|from|between) $", "i");

/** 555-0123: five five five, oh one two three; a + is read. @param {string} text */
export function numbers(text) {
  return rewrite(NUMBER, text, (match) => {
    if (match.groups.local && isRange(text, match)) return null;
    const plus = match[0].startsWith("+") ? "plus " : "";
    return plus + GROUPS.findall(match[0]).map(figures).join(", ");
  });
}

/** Whether a local number may be pages or years. */
function isRange(text, match) {
  const line = toInt(match.groups.line);
  if (line >= 1000 && line <= 2100 && match.groups.office !== "555") return true;
  return PAGES.search(text.slice(back(text, match.index, 10), match.index)) !== null;
}
