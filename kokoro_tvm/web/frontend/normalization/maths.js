/** Powers, operators, arrows and the other signs that are words. */

import { Pattern, charAt, charBefore, digit, endOf, isSpace } from "../python.js";
import { anyOf, editOf, rewrite } from "./rules.js";

const OPENING = "(\"“‘'[−√∑∫∂≈"; // a sign has its own space behind it
const CLOSING = ".,;:!?)]}…\"”'’";
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const POWER = new Pattern(
  "(?P<base>(?<!\\w)(?:[A-Za-zα-ω]|\\d{1,15})|\\))" +
    `(?P<power>(?P<sign>⁻)?(?P<raised>[${RAISED}]{1,9})|\\^(?P<to>[-−]?(?:\\d{1,9}|[a-z](?!\\w))))(?!\\w)` +
    "|(?P<formula>(?<![\\w])[A-Z]{2,4})(?=[₀-₉])",
);
const SIGNS = {
  "==": "equals", "!=": "does not equal", "×": "times", "÷": "divided by", "±": "plus or minus", "=": "equals",
  "≠": "does not equal", "≈": "is about", "≤": "is less than or equal to", "≥": "is greater than or equal to",
  "∞": "infinity", "√": "the square root of", "∑": "the sum of", "∈": "is in", "→": "to", "←": "from",
  "↔": "to and from", "⇒": "implies", "⇔": "is equivalent to", "©": "copyright", "®": "registered",
  "™": "trademark", "§": "section", "¶": "paragraph", "∆": "delta", "∫": "the integral of", "∂": "partial",
  "·": "times", "↑": "up", "↓": "down", "−": "minus", "‰": "per mille",
};
const SIGN = new Pattern(
  "(?P<by>(?<=\\d)(?<![^\\d.,]0)(?<!^0)(?:[x×]| x )(?=\\d))|(?P<times>(?<=\\d)[x×](?!\\w))" +
    "|(?P<heart>(?<!\\S)<3(?![^\\s.,!?]))" +
    "|(?P<compared>(?:(?<=\\w )|(?<!\\S))(?P<less>[<>]=?)(?= ?[\\w.$£€]))" +
    "|(?P<star>(?<=\\d) ?\\* ?(?=\\d))" +
    `|(?P<paragraphs>§§)|(?P<sign>${anyOf(Object.keys(SIGNS))})` +
    "|(?P<greek>(?<![\\w\\u0370-\\u03ff])[Α-ΡΣ-Ωα-ω](?![\\w\\u0370-\\u03ff]))",
);
const LESS = {
  "<": "less than", ">": "greater than", "<=": "less than or equal to", ">=": "greater than or equal to",
};
// Unicode's names, from alpha on; ς stands between rho and sigma.
const GREEK = (
  "alpha beta gamma delta epsilon zeta eta theta iota kappa lamda mu nu xi omicron pi rho sigma sigma tau upsilon " +
  "phi chi psi omega"
).split(" ");

/** x² is x squared, 10^5 is 10 to the power of 5, CO₂ is C O 2. @param {string} text */
export function* powers(text) {
  for (const match of POWER.finditer(text)) {
    const { formula } = match.groups;
    if (formula) yield editOf(match, "formula", `${[...formula].join(" ")} `);
    else yield editOf(match, "power", power(match.groups));
  }
}

/** 5 × 3 is 5 times 3, 4×4 is 4 by 4, A → B is A to B, π is pi. @param {string} text */
export const signs = (text) => rewrite(SIGN, text, (match) => spaced(match, sign(match)));

function power({ to, sign, raised }) {
  const number = to ? to.replaceAll("−", "-") : (sign ? "-" : "") + [...raised].map(digit).join("");
  if (number === "2" || number === "3") return number === "2" ? " squared" : " cubed";
  return ` to the power of ${number.replaceAll("-", "minus ")}`;
}

function sign(match) {
  const { heart, by, times, star, compared, less, sign: mark, greek, paragraphs } = match.groups;
  if (heart) return "heart";
  if (by) return match.input.startsWith("10 to the power", endOf(match)) ? "times" : "by";
  if (times || star) return "times";
  if (compared) {
    return (match.index && !match.input.slice(0, match.index).endsWith(" is ") ? "is " : "") + LESS[less];
  }
  if (mark === "≈" && match.index === 0) return "about";
  if (greek) return GREEK[greek.toLowerCase().charCodeAt(0) - 0x3b1];
  return paragraphs ? "sections" : SIGNS[mark];
}

/** With a space to its neighbours, where there is none. */
function spaced(match, words) {
  const [before, after] = [charBefore(match.input, match.index), charAt(match.input, endOf(match))];
  const lead = before && !isSpace(before) && !OPENING.includes(before) ? " " : "";
  return lead + words + (!after || isSpace(after) || CLOSING.includes(after) ? "" : " ");
}
