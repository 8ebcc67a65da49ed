/** Times of day, and what else has a colon between figures. */

import { toInt } from "../numerals.js";
import { Pattern, back, endOf, strip } from "../python.js";
import { rewrite } from "./rules.js";

const CLOCK = new Pattern(
  "(?<![\\w.:])(?:(?P<hour>[01]?\\d|2[0-4]):(?P<minute>[0-5]\\d)(?::(?P<second>[0-5]\\d)(?:\\.\\d{1,9})?)?" +
    "(?P<zulu>Z\\b)?(?P<half>\\s?[aApP](?:\\.[mM]\\b|[mM]\\b))?" +
    "(?:(?P<from>\\s?[–-]\\s?(?=\\d{1,2}:\\d\\d(?!\\d)))|(?![\\w:]))" +
    "|(?P<ratio>(?P<left>\\d{1,4}):(?P<right>\\d{1,4})(?![\\w:]|\\.\\d))" +
    "|(?P<whole>1[0-2]|0?[1-9])(?P<noon>\\s?(?:am|AM|pm|PM)\\b)(?P<until>\\s?[–-]\\s?(?=\\d))?" +
    "|(?P<first>1[0-2]|[1-9])(?P<dash>[–-])(?=(?:1[0-2]|[1-9])\\s?(?:am|AM|pm|PM)\\b))",
);
const VERSE = new Pattern("[A-Z][a-z]+\\.? $");

/** 14:05 is 14 oh 5, 10:00 is 10 o'clock, 7pm is 7 p.m., John 3:6 is John 3 6, 2:1 is 2 to 1. @param {string} text */
export const clocks = (text) => rewrite(CLOCK, text, (match) => spoken(text, match));

function spoken(text, match) {
  const { ratio, left, right, dash, first, noon, whole, until, hour, minute, second, half, zulu, from } = match.groups;
  if (ratio) {
    const verse = VERSE.search(text.slice(back(text, match.index, 20), match.index));
    return `${left} ${verse ? "" : "to "}${right}`;
  }
  if (dash) return `${first} to `;
  if (noon) return `${toInt(whole)}${halfOf(noon)}${until ? " to " : ""}`;
  const time = clock(toInt(hour), minute, second, Boolean(half), text, endOf(match));
  return time + (zulu ? " UTC" : "") + (half ? halfOf(half) : "") + (from ? " to " : "");
}

function clock(hour, minute, second, half, text, end) {
  if (second !== undefined) {
    const count = toInt(second);
    return `${hour} ${two(minute)} and ${count} second${count === 1 ? "" : "s"}`;
  }
  if (minute !== "00") return `${hour} ${two(minute)}`;
  if (half || text.startsWith(" a.m", end) || text.startsWith(" p.m", end)) return String(hour);
  return hour >= 1 && hour <= 12 ? `${hour} o'clock` : `${hour} hundred hours`;
}

const two = (figures) => (figures[0] === "0" ? `oh ${figures.slice(1)}` : figures);

/** Its last point may be that of the sentence, and stays outside. */
const halfOf = (written) => ` ${strip(written)[0].toLowerCase()}.m`;
