/**
 * Characters as in Python: code points and their classes.
 *
 * Places in a text are UTF-16 units, as everywhere in JavaScript. Counted characters are code points.
 */

/** Python's space for the brackets of an expression; `\s` of JavaScript differs. */
const SPACE = "\\n\\t\\v-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
/** Match a run of characters without space. */
const WORD = new RegExp(`[^${SPACE}]+`, "gu");
const LEADING = new RegExp(`^[${SPACE}]+`, "u");
const ALL_SPACE = new RegExp(`^[${SPACE}]+$`, "u");
const PRINTABLE = /^[^\p{C}\p{Z}]$/u;

const rstrip = (text) => {
  // A search for a pattern would start at every space of the text.
  let end = text.length;
  while (end && ALL_SPACE.test(text[end - 1])) end--;
  return text.slice(0, end);
};
/** @param {string} text */
export const strip = (text) => rstrip(text.replace(LEADING, ""));
/**
 * Return the words between spaces.
 * @param {string} text
 * @returns {string[]}
 */
export const split = (text) => text.match(WORD) ?? [];

/** @param {string} text */
export const isAlpha = (text) => /^\p{L}+$/u.test(text);
/** Return whether a character is a capital. @param {string} char */
export const isUpper = (char) => /^\p{Uppercase}$/u.test(char);
/**
 * Return the character at a place, "" at the end.
 * @param {string} text
 * @param {number} place
 */
export function charAt(text, place) {
  const code = place >= 0 ? text.codePointAt(place) : undefined;
  return code === undefined ? "" : String.fromCodePoint(code);
}

/**
 * Return the first characters of a text.
 * @param {string} text
 * @param {number} most
 */
export function head(text, most) {
  let place = 0;
  for (; most && place < text.length; most--) place += isPair(text, place) ? 2 : 1;
  return text.slice(0, place);
}

/** Return the number of characters. @param {string} text */
export function length(text) {
  let count = text.length;
  for (let place = 0; place + 1 < text.length; place++) if (isPair(text, place)) count--;
  return count;
}

/**
 * Return whether two units are one character.
 * @param {string} text
 * @param {number} place
 */
function isPair(text, place) {
  return (text.charCodeAt(place) & 0xfc00) === 0xd800 && (text.charCodeAt(place + 1) & 0xfc00) === 0xdc00;
}

/** Round to the nearest whole number, halves to even. @param {number} value */
export function rint(value) {
  const low = Math.floor(value);
  const over = value - low;
  return over < 0.5 || (over === 0.5 && low % 2 === 0) ? low : low + 1;
}

/** Quote a text as Python's `repr`. @param {string} text */
export function quote(text) {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const shown = [...text].map((char) => {
    if (char === mark || char === "\\") return `\\${char}`;
    const name = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[char];
    return name ?? (char === " " || PRINTABLE.test(char) ? char : escaped(char));
  });
  return mark + shown.join("") + mark;
}

function escaped(char) {
  const code = char.codePointAt(0) ?? 0;
  const [letter, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${letter}${code.toString(16).padStart(width, "0")}`;
}
