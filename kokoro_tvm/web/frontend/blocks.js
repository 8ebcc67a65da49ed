/**
 * Marks at the beginning of a line that make it a block of its own: headings, items, rows, rules, fences.
 *
 * They are Markdown's (https://spec.commonmark.org/0.31.2/), as far as they can be known from the line's first
 * characters.
 */

import { Pattern, digit, endOf } from "./python.js";

/** @typedef {"heading" | "item" | "numbered" | "row" | "fence" | "rule"} Kind */

/** Characters of a line that show whether it begins a block. */
export const MOST = 8;

const FIRST = new Set("#-*+•‣◦▪0123456789|`~_=");
const BLOCK = new Pattern(
  "(?P<heading>\\#{1,6})(?=\\s)" +
    "|(?P<rule>-{3}(?=[-\\s])|\\*{3}(?=[*\\s])|_{3}(?=[_\\s])|={3}(?=[=\\s]))" +
    "|(?P<item>[-*+•‣◦▪])[ \\t]" +
    "|(?P<numbered>\\d{1,3})[.)][ \\t]{1,3}(?=\\S)" +
    "|(?P<row>\\|)" +
    "|(?P<fence>```|~~~)",
);
/** @type {Kind[]} */
const KINDS = ["heading", "item", "numbered", "row", "fence", "rule"];

/** Whether a line with this first character may begin a block. @param {string} char */
export const mayBegin = (char) => FIRST.has(char);

/** Whether a block ends with its line. @param {Kind} kind */
export const isOneLine = (kind) => kind !== "item" && kind !== "numbered";

/**
 * The block that begins at `place`, the first character of a line that is no space: its kind, and where its mark
 * ends.
 *
 * numbered: whether a numbered item may have any number; among other lines, only 1 begins a list, so that a wrapped
 * line may begin with a number that ends a sentence.
 *
 * @param {string} text @param {number} place @param {boolean} numbered
 * @returns {{kind: Kind, end: number} | null}
 */
export function blockAt(text, place, numbered) {
  const found = BLOCK.match(text, place);
  if (!found || (found.groups.numbered && !numbered && !isOne(found.groups.numbered))) return null;
  const kind = KINDS.find((name) => found.groups[name]);
  return kind ? { kind, end: endOf(found) } : null;
}

const isOne = (figures) => Number([...figures].map(digit).join("")) === 1;
