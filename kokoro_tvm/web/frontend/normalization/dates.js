/** Dates: of ISO 8601, with slashes and points, months by name and in short. */

import { toInt } from "../numerals.js";
import { Pattern } from "../python.js";
import { MONTHS, anyOf, ordinal, rewrite } from "./rules.js";

/** @type {Record<string, string>} */
const SHORT = {
  ...Object.fromEntries(MONTHS.filter((month) => month.length > 4).map((month) => [month.slice(0, 3), month])),
  Sept: "September",
};
const SHORTS = anyOf(Object.keys(SHORT));
const MONTH = `(?:${anyOf(MONTHS)}|${SHORTS}\\b\\.?)`;
const DAYS = {
  Mon: "Monday", Tue: "Tuesday", Tues: "Tuesday", Wed: "Wednesday", Thu: "Thursday", Thur: "Thursday",
  Thurs: "Thursday", Fri: "Friday", Sat: "Saturday", Sun: "Sunday",
};
const DAY = anyOf(Object.keys(DAYS));
const DATE = new Pattern(
  "(?<![\\w./:–-])(?:" +
    "(?P<iso>(?P<y1>\\d{4})-(?P<m1>\\d\\d)-(?P<d1>\\d\\d))(?:(?P<time>T)(?=\\d\\d:\\d\\d)|(?![\\w-]))" +
    "|(?P<a2>\\d{1,2})/(?P<b2>\\d{1,2})/(?P<y2>\\d{4}|\\d\\d)(?![\\w/-])" +
    "|(?P<d3>\\d{1,2})\\.(?P<m3>\\d{1,2})\\.(?P<y3>\\d{4})(?![\\w-]|\\.\\d)" +
    `|(?P<the>[Tt]he )?(?P<d4>\\d{1,2}) (?P<m4>${MONTH})(?!\\w)` +
    `|(?P<m5>${MONTH}) (?P<d5>\\d{1,2})(?:\\s?[–-]\\s?(?P<to>\\d{1,2}))?(?![\\w:/–-]|[.,]\\d|%` +
    "| (?:years?|months?|weeks?|days?|hours?|minutes?|people|men|women|percent)\\b)" +
    `|(?P<m6>${SHORTS}\\b\\.?)(?= \\d{1,2}(?:st|nd|rd|th)\\b| \\d{4}\\b)` +
    `|(?P<day>${DAY}\\b\\.?)(?=,? (?:${MONTH}|\\d))` +
    `|(?P<from>${DAY})(?:-|–)(?P<until>${DAY})\\b)`,
);

/** 3/4/2024 is March 4th. @param {string} text */
export const american = (text) => rewrite(DATE, text, ({ groups }) => spoken(groups, false));

/** 3/4/2024 is the 3rd of April. @param {string} text */
export const british = (text) => rewrite(DATE, text, ({ groups }) => spoken(groups, true));

function spoken(groups, isBritish) {
  if (groups.day) return DAYS[withoutPoint(groups.day)];
  if (groups.from) return `${DAYS[groups.from]} to ${DAYS[groups.until]}`;
  if (groups.m6) return monthOf(groups.m6);
  if (groups.d4) return byDay(groups);
  if (groups.d5) return byMonth(groups);
  let [year, month, day] = [groups.y1, groups.m1, groups.d1];
  if (groups.d3) [year, month, day] = [groups.y3, groups.m3, groups.d3];
  if (groups.a2) {
    [year, month, day] = [groups.y2, groups.a2, groups.b2];
    if ((isBritish && toInt(day) <= 12) || toInt(month) > 12) [month, day] = [day, month];
  }
  const [number, rank] = [toInt(month), toInt(day)];
  if (!(number >= 1 && number <= 12 && isDay(rank))) return null;
  const name = MONTHS[number - 1];
  const date = isBritish ? `the ${ordinal(rank)} of ${name}, ${year}` : `${name} ${ordinal(rank)}, ${year}`;
  return date + (groups.time ? " at " : "");
}

/** 15 March: the 15th of March. */
function byDay({ the, d4, m4 }) {
  const day = toInt(d4);
  return isDay(day) ? `${the || "the "}${ordinal(day)} of ${monthOf(m4)}` : null;
}

/** March 15: March 15th. */
function byMonth({ m5, d5, to }) {
  const [day, until] = [toInt(d5), to ? toInt(to) : 1];
  if (!isDay(day) || !isDay(until)) return null;
  return `${monthOf(m5)} ${ordinal(day)}${to ? ` to ${ordinal(until)}` : ""}`;
}

const isDay = (number) => number >= 1 && number <= 31;
const withoutPoint = (written) => written.replace(/(?<!\.)\.+$/, "");
const monthOf = (written) => SHORT[withoutPoint(written)] ?? withoutPoint(written);
