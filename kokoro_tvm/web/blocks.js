/**
 * Marks at the beginning of a line that make it a block: headings, items, rows, rules, fences.
 *
 * They are Markdown's (https://spec.commonmark.org/0.31.2/), as far as the first characters of a line show them.
 */

import { SPACE, endOf } from "./characters.js";

/** @typedef {"heading" | "item" | "numbered" | "row" | "fence" | "rule"} Kind */

/** Characters of a line that decide whether it begins a block. */
export const MOST = 8;

const FIRST = new Set("#-*+•‣◦▪0123456789|`~_=");
const BLOCK = new RegExp(
  `(?<heading>#{1,6})(?=[${SPACE}])` +
    `|(?<rule>-{3}(?=[-${SPACE}])|\\*{3}(?=[*${SPACE}])|_{3}(?=[_${SPACE}])|={3}(?=[=${SPACE}]))` +
    "|(?<item>[-*+•‣◦▪])[ \\t]" +
    `|(?<numbered>\\p{Nd}{1,3})[.)][ \\t]{1,3}(?=[^${SPACE}])` +
    "|(?<row>\\|)" +
    "|(?<fence>```|~~~)",
  "uy",
);
/** @type {Kind[]} */
const KINDS = ["heading", "item", "numbered", "row", "fence", "rule"];

/** Return whether a line with this first character may begin a block. @param {string} char */
export const mayBegin = (char) => FIRST.has(char);

/** Return whether a block ends with its line. @param {Kind} kind */
export const isOneLine = (kind) => kind !== "item" && kind !== "numbered";

/**
 * Return kind and end of the block mark at `place`, the first non-space of a line, or null.
 *
 * numbered: whether an item may have any number. Otherwise only 1 begins a list, because a wrapped line may begin with
 * a number that ends a sentence.
 * @param {string} text
 * @param {number} place
 * @param {boolean} numbered
 * @returns {{kind: Kind, end: number} | null}
 */
export function blockAt(text, place, numbered) {
  BLOCK.lastIndex = place;
  const result = BLOCK.exec(text);
  if (!result?.groups || (result.groups.numbered && !numbered && !isOne(result.groups.numbered))) return null;
  const { groups } = result;
  const kind = KINDS.find((name) => groups[name]);
  return kind ? { kind, end: endOf(result) } : null;
}

const isOne = (figures) => Number([...figures].map(digit).join("")) === 1;

/** Return the value of a digit of any script: digits come in tens, from 0 to 9. @param {string} figure */
function digit(figure) {
  const code = figure.codePointAt(0) ?? 0;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return (code - zero) % 10;
}
