/** Numbers in English words. */

import { digit, partition } from "./python.js";

const SMALL = (
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen " +
  "eighteen nineteen"
).split(" ");
const TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const SCALES = (
  "thousand million billion trillion quadrillion quintillion sextillion septillion octillion nonillion decillion"
).split(" ");
const ORDINALS = {
  one: "first", two: "second", three: "third", five: "fifth", eight: "eighth", nine: "ninth", twelve: "twelfth",
};

/** Figures of the largest number that has a name here. */
export const MOST_FIGURES = 3 * (SCALES.length + 1);

/** The value of figures of any script, few enough for a number. @param {string} figures */
export const toInt = (figures) => Number([...figures].map(digit).join(""));

/** Words of a whole number of at most MOST_FIGURES figures: 1234 is one thousand two hundred and thirty four.
 * @param {number | bigint} number @returns {string[]} */
export function cardinal(number) {
  if (number < 20) return [SMALL[Number(number)]];
  if (number < 100) {
    const [tens, ones] = [Math.floor(Number(number) / 10), Number(number) % 10];
    return [TENS[tens], ...(ones ? cardinal(ones) : [])];
  }
  if (number < 1000) {
    const [hundreds, rest] = [Math.floor(Number(number) / 100), Number(number) % 100];
    return [SMALL[hundreds], "hundred", ...(rest ? ["and", ...cardinal(rest)] : [])];
  }
  const scale = Math.floor((String(number).length - 1) / 3);
  const unit = 1000n ** BigInt(scale);
  const [high, rest] = [BigInt(number) / unit, BigInt(number) % unit];
  const joint = rest > 0n && rest < 100n ? ["and"] : [];
  return [...cardinal(high), SCALES[scale - 1], ...joint, ...(rest ? cardinal(rest) : [])];
}

/** Words of a rank: 21 is twenty first. @param {number | bigint} number @returns {string[]} */
export function ordinal(number) {
  const words = cardinal(number);
  const last = words.pop() ?? "";
  if (last.endsWith("y")) return [...words, `${last.slice(0, -1)}ieth`];
  return [...words, ORDINALS[last] ?? `${last}th`];
}

/** Words of four figures as a year: 1905 is nineteen oh five, 2007 two thousand and seven.
 * @param {number} number @returns {string[]} */
export function year(number) {
  const [century, rest] = [Math.floor(number / 100), number % 100];
  if (century === 0 || century >= 100 || (century % 10 === 0 && rest < 10)) return cardinal(number);
  if (rest === 0) return [...cardinal(century), "hundred"];
  return [...cardinal(century), ...(rest < 10 ? ["oh", SMALL[rest]] : cardinal(rest))];
}

/** Words of figures with a point and some before it; zeros at the end are not read: 3.50 is three point five, and
 * 3.0 is three. @param {string} figures @returns {string[]} */
export function decimal(figures) {
  const [whole, , after] = partition(figures, ".");
  const rest = after.replace(/(?<!0)0+$/, "");
  return [...cardinal(BigInt(whole)), ...(rest ? ["point", ...[...rest].map((figure) => SMALL[Number(figure)])] : [])];
}
