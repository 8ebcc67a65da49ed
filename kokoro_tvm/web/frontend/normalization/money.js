/** Money that misaki reads wrong: other currencies, scales in short, ranges, debts, signs behind. */

import { Pattern } from "../python.js";
import { NUMBER, anyOf, grouped, rewrite } from "./rules.js";

// Sign or code -> one, several.
const CURRENCIES = {
  $: ["dollar", "dollars"], "£": ["pound", "pounds"], "€": ["euro", "euros"], "¥": ["yen", "yen"],
  "₹": ["rupee", "rupees"], "₽": ["ruble", "rubles"], "₩": ["won", "won"], "₺": ["lira", "lira"],
  "₪": ["shekel", "shekels"], "₴": ["hryvnia", "hryvnias"], "₦": ["naira", "naira"], "₫": ["dong", "dong"],
  "฿": ["baht", "baht"], "₱": ["peso", "pesos"], "₿": ["bitcoin", "bitcoins"],
  US$: ["U.S. dollar", "U.S. dollars"], A$: ["Australian dollar", "Australian dollars"],
  AU$: ["Australian dollar", "Australian dollars"], C$: ["Canadian dollar", "Canadian dollars"],
  CA$: ["Canadian dollar", "Canadian dollars"], NZ$: ["New Zealand dollar", "New Zealand dollars"],
  HK$: ["Hong Kong dollar", "Hong Kong dollars"], R$: ["real", "reais"], USD: ["U.S. dollar", "U.S. dollars"],
  EUR: ["euro", "euros"], GBP: ["pound", "pounds"], JPY: ["yen", "yen"], CNY: ["yuan", "yuan"],
  INR: ["rupee", "rupees"], CHF: ["Swiss franc", "Swiss francs"], CAD: ["Canadian dollar", "Canadian dollars"],
  AUD: ["Australian dollar", "Australian dollars"],
};
const READ = new Set("$£€"); // signs that `figures.js` reads, cents and all
const SCALES = {
  k: "thousand", K: "thousand", m: "million", M: "million", mn: "million", MM: "million", bn: "billion",
  B: "billion", b: "billion", tn: "trillion", T: "trillion",
};
const SIGNS = Object.keys(CURRENCIES);
const ANY_SCALE = anyOf(Object.keys(SCALES));
const SCALE = `(?:\\s?(?P<short>${ANY_SCALE})(?!\\w)|[ -](?P<named>thousand|million|billion|trillion)(?!\\w))?`;
const BEFORE = new Pattern(
  `(?<![\\w$£€])(?P<minus>[-−])?(?P<sign>${anyOf(SIGNS)}) ?(?P<debt>[-−])?(?P<number>${NUMBER})` +
    `(?:(?P<first>${ANY_SCALE})?\\s?[–-]\\s?(?P<again>${anyOf(SIGNS)})?(?P<until>${NUMBER}))?${SCALE}(?![\\d%])`,
);
const AFTER = new Pattern(
  `(?<![\\w.,$£€])(?P<number>${NUMBER}|\\d{1,9},\\d\\d)${SCALE}\\s?` +
    `(?P<sign>${anyOf(SIGNS.filter((sign) => !sign.includes("$") || sign === "$"))})(?![\\w])(?!\\s?\\d)`,
);
const CENTS_BEHIND_COMMA = new Pattern("\\d+,\\d\\d");
const CENTS = new Pattern("\\.\\d\\d$");

/** $1.2M is 1.2 million dollars, $5-10 is 5 to 10 dollars; $2.50 is left to misaki's rule. @param {string} text */
export const amounts = (text) => rewrite(BEFORE, text, amount);

/** 5 € is 5 euros, 5,50 € is written €5.50, which is read. @param {string} text */
export function after(text) {
  return rewrite(AFTER, text, ({ groups }) => {
    const { sign } = groups;
    const number = CENTS_BEHIND_COMMA.fullmatch(groups.number) ? groups.number.replaceAll(",", ".") : groups.number;
    const scale = scaleOf(groups);
    if (CENTS.search(number) && READ.has(sign) && !scale) return sign + number;
    return spoken(number, "", scale, sign);
  });
}

function amount(match) {
  const { sign, number, until, short, first } = match.groups;
  const minus = match.groups.minus || match.groups.debt ? "minus " : "";
  const scale = scaleOf(match.groups);
  if (READ.has(sign) && !until && !short) {
    const bare = new Set(`-−${sign} `);
    const chars = [...match[0]];
    return minus ? `minus ${sign}${chars.slice(chars.findIndex((char) => !bare.has(char))).join("")}` : null;
  }
  if (until && READ.has(sign) && (number + until).includes(".") && !scale) {
    return `${minus}${sign}${number} to ${sign}${until}`;
  }
  const words = spoken(number, until ?? "", scale, sign);
  const own = SCALES[first ?? ""] ?? "";
  return minus + (own ? words.replace(" to ", ` ${own} to `) : words);
}

/** @param {any} groups of a match */
const scaleOf = ({ named, short }) => named || (SCALES[short ?? ""] ?? "");

function spoken(number, until, scale, sign) {
  const [one, several] = CURRENCIES[sign];
  const last = until ? ` to ${grouped(until)}` : "";
  const unit = number === "1" && !until && !scale ? one : several;
  return `${grouped(number)}${last}${scale ? ` ${scale}` : ""} ${unit}`;
}
