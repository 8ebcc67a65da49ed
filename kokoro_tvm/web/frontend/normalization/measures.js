/** Units of measure after a number: 10 km/h, -5 °C, 6'2". */

import { Pattern, endOf, spanOf } from "../python.js";
import { edit } from "../source.js";
import { NUMBER, anyOf, editOf, grouped } from "./rules.js";

const LENGTHS = {
  km: "kilometer", m: "meter", cm: "centimeter", mm: "millimeter", µm: "micrometer", μm: "micrometer",
  nm: "nanometer", mi: "mile", ft: "foot", yd: "yard",
};
const UNITS = {
  ...LENGTHS, kg: "kilogram", mg: "milligram", µg: "microgram", μg: "microgram", g: "gram", lb: "pound",
  lbs: "pound", oz: "ounce", L: "liter", l: "liter", mL: "milliliter", ml: "milliliter", cl: "centiliter",
  dl: "deciliter", dL: "deciliter", h: "hour", hr: "hour", hrs: "hour", min: "minute", mins: "minute",
  sec: "second", secs: "second", ms: "millisecond", µs: "microsecond", μs: "microsecond", ns: "nanosecond",
  kB: "kilobyte", KB: "kilobyte", MB: "megabyte", GB: "gigabyte", TB: "terabyte", PB: "petabyte",
  kbit: "kilobit", Mbit: "megabit", Gbit: "gigabit", W: "watt", kW: "kilowatt", MW: "megawatt", GW: "gigawatt",
  Wh: "watt hour", kWh: "kilowatt hour", MWh: "megawatt hour", V: "volt", kV: "kilovolt", mV: "millivolt",
  mA: "milliamp", Ah: "amp hour", mAh: "milliamp hour", "\u03a9": "ohm", "\u2126": "ohm", kΩ: "kilohm",
  dB: "decibel", Pa: "pascal", kPa: "kilopascal", hPa: "hectopascal", J: "joule", kJ: "kilojoule",
  cal: "calorie", kcal: "kilocalorie", ha: "hectare", kn: "knot", px: "pixel", s: "second", N: "newton",
  mol: "mole", in: "inch",
};
// Read as they stand, whatever the number; a slash and a power do not follow.
const WHOLE = {
  mph: ["mile per hour", "miles per hour"], kph: ["kilometer per hour", "kilometers per hour"],
  "km/h": ["kilometer per hour", "kilometers per hour"], fps: ["frame per second", "frames per second"],
  kbps: ["kilobit per second", "kilobits per second"], Mbps: ["megabit per second", "megabits per second"],
  Gbps: ["gigabit per second", "gigabits per second"], Hz: ["hertz", "hertz"], kHz: ["kilohertz", "kilohertz"],
  MHz: ["megahertz", "megahertz"], GHz: ["gigahertz", "gigahertz"], "°C": ["degree Celsius", "degrees Celsius"],
  "℃": ["degree Celsius", "degrees Celsius"], "°F": ["degree Fahrenheit", "degrees Fahrenheit"],
  "℉": ["degree Fahrenheit", "degrees Fahrenheit"], "°": ["degree", "degrees"], "‰": ["per mille", "per mille"],
  "¢": ["cent", "cents"], "sq ft": ["square foot", "square feet"], "sq mi": ["square mile", "square miles"],
  "sq km": ["square kilometer", "square kilometers"],
};
const PERIODS = "second|minute|hour|day|night|week|month|year|person|head|mile|gallon|ounce|pound|unit";
const POWERS = { "²": "square ", "³": "cubic ", "": "" };
const ANY_UNIT = anyOf(Object.keys(UNITS));
const UNIT = new Pattern(
  `(?<![\\w.,])(?P<number>${NUMBER})(?:` +
    `(?P<gap>\\s?|-)(?:(?P<whole>${anyOf(Object.keys(WHOLE))})` +
    `|(?P<length>${anyOf(Object.keys(LENGTHS))})(?P<power>[²³])` +
    `|(?P<unit>${ANY_UNIT}))(?:/(?P<per>${ANY_UNIT})(?P<per_power>[²³])?)?` +
    "(?:(?P<dot>\\.)(?= [a-z])|(?![\\w²³°&]|/[^\\W\\d]))" +
    `|(?P<period>/)(?=${PERIODS}\\b))`,
);
const PRICE = new Pattern(
  `(?:[$£€]${NUMBER}|(?<= )(?:dollars?|euros?|pounds?|yen|rupees|cents?))` +
    `(?P<each>/(?:(?P<unit>${ANY_UNIT}|mo|yr)(?!\\w)|(?=${PERIODS}\\b)))`,
);
const FEET = new Pattern(
  "(?<![\\w.,'’])(?P<feet>\\d{1,4})(?:(?P<mark>['′’])" +
    "(?:\\s?(?P<inches>\\d{1,2}(?:\\.\\d)?)(?:\\\"|″|”|''))?|(?P<only>[\\\"″”]))(?![\\w'’\\\"])",
);
const QUOTED = new Pattern("(?<!\\w)['‘]\\w|[\\\"“”](?!\\d)(?=\\w)|(?<!\\d)[\\\"”]");

/** The unit alone is put in words, one or several; its number is left to misaki's rules. @param {string} text */
export function* units(text) {
  for (const match of UNIT.finditer(text)) {
    if (match.groups.period) {
      yield editOf(match, "period", " per ");
      continue;
    }
    const spoken = unit(match.groups);
    if (spoken === null) continue;
    const number = grouped(match.groups.number);
    if (number !== match.groups.number) yield editOf(match, "number", number);
    yield edit([spanOf(match, "number")[1], endOf(match)], ` ${spoken}`);
  }
}

/** $3/kg is $3 per kilogram. @param {string} text */
export function* prices(text) {
  for (const match of PRICE.finditer(text)) {
    const written = match.groups.unit ?? "";
    const name = { mo: "month", yr: "year" }[written] ?? UNITS[written] ?? "";
    yield editOf(match, "each", ` per ${name}`);
  }
}

/** 6'2" is 6 feet 2 inches; a mark alone is a unit only where nothing is quoted in the text. @param {string} text */
export function* feet(text) {
  const quoted = QUOTED.search(text) !== null;
  for (const match of FEET.finditer(text)) {
    const { feet: written, mark, inches, only } = match.groups;
    let spoken = `${written} ${plural(only ? "inch" : "foot", written)}`;
    if (inches) spoken += ` ${inches} ${plural("inch", inches)}`;
    if (inches || only === "″" || mark === "′" || !quoted) yield edit([match.index, endOf(match)], spoken);
  }
}

function unit({ number, gap, whole, length, power, unit: written, per, per_power: perPower, dot }) {
  const singular = number === "1" || gap === "-";
  if (whole) return per ? null : WHOLE[whole][singular ? 0 : 1];
  const short = written || length;
  if (!gap && ["s", "V", "N", "W", "h", "J", "L", "l"].includes(short)) return null; // 80s, 5W: more often another
  if (short === "in" && gap && !dot) return null; // 5 in the morning
  const name = UNITS[short];
  const spoken = POWERS[power ?? ""] + (singular ? name : plural(name, "2"));
  if (!per) return spoken;
  const rate = `${spoken} per ${POWERS[perPower ?? ""]}${UNITS[per]}`;
  return perPower && per === "s" ? rate.replaceAll("per square second", "per second squared") : rate;
}

const plural = (name, number) => (number === "1" ? name : ({ foot: "feet", inch: "inches" }[name] ?? `${name}s`));
