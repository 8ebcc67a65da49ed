/** HTML's character references (https://html.spec.whatwg.org/multipage/parsing.html), as Python's `html` reads them. */

import { ENTITIES } from "./names.js";

const REFERENCE = /&(#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)/gu;
// What the references 128 to 159 stand for, as Windows has it; "" for those that stand for themselves.
const WINDOWS = [
  ..."\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f",
  ..."\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178",
];

/** A text with characters for its references. @param {string} text */
export const unescape = (text) => text.replace(REFERENCE, (_, name) => (name[0] === "#" ? numbered(name) : named(name)));

function numbered(name) {
  const hex = name[1] === "x" || name[1] === "X";
  const number = parseInt(name.slice(hex ? 2 : 1), hex ? 16 : 10);
  if (number === 0x0d) return "\r";
  if (number >= 0x80 && number <= 0x9f) return WINDOWS[number - 0x80];
  if (number === 0 || (number >= 0xd800 && number <= 0xdfff) || number > 0x10ffff) return "\ufffd";
  const isControl = number < 9 || number === 0x0b || (number > 0x0d && number < 0x20) || number === 0x7f;
  const isNone = (number & 0xfffe) === 0xfffe || (number >= 0xfdd0 && number <= 0xfdef);
  return isControl || isNone ? "" : String.fromCodePoint(number);
}

/** The character of the longest name that a reference begins with, and the rest. */
function named(name) {
  for (let count = name.length; count > 1; count--) {
    const found = ENTITIES.get(name.slice(0, count));
    if (found !== undefined) return found + name.slice(count);
  }
  return `&${name}`;
}
