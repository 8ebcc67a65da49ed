/**
 * What Python's strings and regular expressions do and JavaScript's do not, so that both front ends read alike.
 *
 * Places in a text are UTF-16 units, as everywhere in JavaScript; wherever characters are counted, they are code
 * points, as in Python. Patterns are written as in Python and translated (`Pattern`): there `\w`, `\d` and `\b`
 * are Unicode's, `\s` has other members, and `$` matches before a last line break too.
 */

const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const WORD = "\\p{L}\\p{N}_";
const FIGURE = "\\p{Nd}";
const CLASSES = { w: WORD, d: FIGURE, s: SPACE };
const END = "(?=\\n?(?![^]))";
const BOUNDARY = `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`;
// Letters that Python counts as one where upper and lower case are alike, beyond those of ASCII.
const ALIKE = { i: "iIİı", s: "sSſ", k: "kK\u212a" };
const CONTROLS = { n: "\n", r: "\r", t: "\t", f: "\f", v: "\v" };

const LEADING = new RegExp(`^[${SPACE}]+`, "u");
const SPACES = new RegExp(`[${SPACE}]+`, "gu");
const ALL_SPACE = new RegExp(`^[${SPACE}]+$`, "u");
const ALL_LETTERS = /^\p{L}+$/u;
const ALL_WORDS = /^[\p{L}\p{N}]+$/u;
const ALL_FIGURES = /^\p{Nd}+$/u;

// Digits that are no decimal figures (Unicode's Numeric_Type=Digit): first code point, value, how many follow.
const DIGITS = [
  [0xb2, 2, 2], [0xb9, 1, 1], [0x1369, 1, 9], [0x19da, 1, 1], [0x2070, 0, 1], [0x2074, 4, 6], [0x2080, 0, 10],
  [0x2460, 1, 9], [0x2474, 1, 9], [0x2488, 1, 9], [0x24ea, 0, 1], [0x24f5, 1, 9], [0x24ff, 0, 1],
  [0x2776, 1, 9], [0x2780, 1, 9], [0x278a, 1, 9], [0x10a40, 1, 4], [0x10e60, 1, 9], [0x11052, 1, 9],
  [0x1f100, 0, 1], [0x1f101, 0, 10],
];

/** @param {string} text */
export const lstrip = (text) => text.replace(LEADING, "");
/** @param {string} text */
export const rstrip = (text) => {
  // By hand: a search for the pattern would begin at every space of the text.
  let end = text.length;
  while (end && ALL_SPACE.test(text[end - 1])) end--;
  return text.slice(0, end);
};
/** @param {string} text */
export const strip = (text) => rstrip(lstrip(text));
/** @param {string} text */
export const isSpace = (text) => ALL_SPACE.test(text);
/** @param {string} text */
export const isAlpha = (text) => ALL_LETTERS.test(text);
/** @param {string} text */
export const isAlnum = (text) => ALL_WORDS.test(text);
/** @param {string} text */
export const isAscii = (text) => /^[\0-\x7f]*$/.test(text);
/** Whether a single character is a capital. @param {string} char */
export const isUpper = (char) => /^\p{Uppercase}$/u.test(char);
/** Whether a single character is a small letter. @param {string} char */
export const isLower = (char) => /^\p{Lowercase}$/u.test(char);
/** Whether a single character is a digit of any script, raised ones included. @param {string} char */
export const isDigit = (char) => digit(char) !== null;
/** Whether a single character has a picture of its own. @param {string} char */
export const isPrintable = (char) => char === " " || !/^[\p{C}\p{Z}]$/u.test(char);
/** Whether the text is figures 0 to 9 alone. @param {string} text */
export const allFigures = (text) => /^[0-9]+$/.test(text);

/** Words between spaces. @param {string} text @returns {string[]} */
export const split = (text) => strip(text).split(SPACES).filter((word) => word);

/** The first letter large, the others small. @param {string} text */
export function capitalize(text) {
  const [first = ""] = text;
  const upper = first.toUpperCase();
  const title = upper.length > first.length ? upper[0] + upper.slice(1).toLowerCase() : upper;
  return title + text.slice(first.length).toLowerCase();
}

/** The value of a digit of any script; null for what is none. @param {string} char @returns {number | null} */
export function digit(char) {
  const code = char.codePointAt(0) ?? 0;
  if (char !== String.fromCodePoint(code)) return null;
  if (code >= 48 && code <= 57) return code - 48;
  if (code < 0xb2) return null;
  if (ALL_FIGURES.test(char)) {
    let zero = code; // figures come in tens, from 0 to 9
    while (ALL_FIGURES.test(String.fromCodePoint(zero - 1))) zero--;
    return (code - zero) % 10;
  }
  const row = DIGITS.find(([first, , count]) => first <= code && code < first + count);
  return row ? row[1] + code - row[0] : null;
}

/** The character that begins at a place, "" at the end. @param {string} text @param {number} place */
export function charAt(text, place) {
  const code = place >= 0 ? text.codePointAt(place) : undefined;
  return code === undefined ? "" : String.fromCodePoint(code);
}

/** The character before a place, "" at the beginning. @param {string} text @param {number} place */
export const charBefore = (text, place) => text.slice(back(text, place, 1), place);

/** The place `count` characters before another. @param {string} text @param {number} place @param {number} count */
export function back(text, place, count) {
  for (; count && place > 0; count--) place -= isPair(text, place - 2) ? 2 : 1;
  return place;
}

/** The place `count` characters after another. @param {string} text @param {number} place @param {number} count */
export function forth(text, place, count) {
  for (; count && place < text.length; count--) place += isPair(text, place) ? 2 : 1;
  return place;
}

/** The beginning of a text, of at most so many characters. @param {string} text @param {number} most */
export const head = (text, most) => text.slice(0, forth(text, 0, most));

/** How many characters a text has. @param {string} text */
export function length(text) {
  let count = text.length;
  for (let place = 0; place + 1 < text.length; place++) if (isPair(text, place)) count--;
  return count;
}

function isPair(text, place) {
  return (text.charCodeAt(place) & 0xfc00) === 0xd800 && (text.charCodeAt(place + 1) & 0xfc00) === 0xdc00;
}

/** (before, mark, after) of the first mark; the text and twice "" where there is none.
 * @param {string} text @param {string} mark @returns {[string, string, string]} */
export function partition(text, mark) {
  const place = text.indexOf(mark);
  return place < 0 ? [text, "", ""] : [text.slice(0, place), mark, text.slice(place + mark.length)];
}

/** `partition` at the last mark. @param {string} text @param {string} mark @returns {[string, string, string]} */
export function rpartition(text, mark) {
  const place = text.lastIndexOf(mark);
  return place < 0 ? ["", "", text] : [text.slice(0, place), mark, text.slice(place + mark.length)];
}

/** @param {string} text @param {string} ending */
export const removeSuffix = (text, ending) =>
  ending && text.endsWith(ending) ? text.slice(0, -ending.length) : text;

/** The nearest whole number, halves to the even one. @param {number} value */
export function rint(value) {
  const low = Math.floor(value);
  const over = value - low;
  return over < 0.5 || (over === 0.5 && low % 2 === 0) ? low : low + 1;
}

/** The index of the first value above `wanted` (`orEqual`: not below it) in a sorted list.
 * @template T @param {ArrayLike<T>} values @param {number} wanted @param {(value: T) => number} key
 * @param {boolean} [orEqual] */
export function bisect(values, wanted, key, orEqual = false) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const found = key(values[middle]);
    if (orEqual ? found < wanted : found <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A text or a symbol as Python's `repr` shows it. @param {string} text */
export function quote(text) {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const shown = [...text].map((char) => {
    if (char === mark || char === "\\") return `\\${char}`;
    const name = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[char];
    return name ?? (isPrintable(char) ? char : escaped(char));
  });
  return mark + shown.join("") + mark;
}

/** `quote` with ASCII alone. @param {string} text */
export const quoteAscii = (text) => [...quote(text)].map((char) => (isAscii(char) ? char : escaped(char))).join("");

function escaped(char) {
  const code = char.codePointAt(0) ?? 0;
  const [letter, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${letter}${code.toString(16).padStart(width, "0")}`;
}

/** A pattern that stands for a text. @param {string} text */
export const escape = (text) => text.replace(/[()[\]{}?*+\-|^$\\.&~# \t\n\r\v\f]/g, "\\$&");

/**
 * A regular expression in Python's syntax, compiled at its first use.
 *
 * A match is that of `RegExp.exec`, with `indices`; `flags`: "i" upper and lower case are alike, "s" a point is any
 * character. Places that are given and found are UTF-16 units.
 */
export class Pattern {
  /** @param {string} source @param {"" | "i" | "s"} [flags] */
  constructor(source, flags = "") {
    this.source = source;
    this._flags = flags;
    this._of = {};
    /** @type {Pattern | null} */
    this._whole = null;
  }

  /** The first match from a place on. @param {string} text @param {number} [start] */
  search(text, start = 0) {
    return this._exec("g", text, start);
  }

  /** The match that begins at a place. @param {string} text @param {number} [start] */
  match(text, start = 0) {
    return this._exec("y", text, start);
  }

  /** The match of the whole text. @param {string} text */
  fullmatch(text) {
    this._whole ??= new Pattern(`(?:${this.source})\\Z`, this._flags);
    return this._whole.match(text);
  }

  /** Matches that do not overlap. @param {string} text @param {number} [start] */
  *finditer(text, start = 0) {
    for (let match; start <= text.length && (match = this.search(text, start)); ) {
      yield match;
      start = match[0] ? endOf(match) : forth(text, endOf(match), 1) + (endOf(match) === text.length ? 1 : 0);
    }
  }

  /** The characters of all matches. @param {string} text @returns {string[]} */
  findall(text) {
    return Array.from(this.finditer(text), (match) => match[0]);
  }

  /** The text with another in the place of every match. @param {string} text @param {string} other */
  replace(text, other) {
    let [result, done] = ["", 0];
    for (const match of this.finditer(text)) {
      result += text.slice(done, match.index) + other;
      done = endOf(match);
    }
    return result + text.slice(done);
  }

  _exec(kind, text, start) {
    const compiled = (this._of[kind] ??= new RegExp(translated(this.source, this._flags), `du${kind}`));
    compiled.lastIndex = start;
    return compiled.exec(text);
  }
}

/** Where a match ends. @param {RegExpExecArray} match */
export const endOf = (match) => match.index + match[0].length;

/** Start and end of a group that took part in a match.
 * @param {RegExpExecArray} match @param {string} name @returns {[number, number]} */
export const spanOf = (match, name) => match.indices.groups[name];

/** A pattern of Python in JavaScript's syntax with the flag u.
 * @param {string} source @param {string} flags @returns {string} */
function translated(source, flags) {
  const chars = [...source.replace(/^\(\?u\)/, "")];
  let result = "";
  for (let place = 0; place < chars.length; ) {
    const char = chars[place];
    if (char === "\\") {
      const [found, next] = escapeAt(chars, place);
      place = next;
      if (found.kind === "char") result += literal(found.char, flags);
      else if (found.kind === "class") result += `[${found.negated ? "^" : ""}${found.members}]`;
      else result += found.pattern;
    } else if (char === "[") {
      const [members, next] = classAt(chars, place, flags);
      result += members;
      place = next;
    } else if (char === "(") {
      const opening = /^\((?:\?(?:P<\w+>|<?[=!]|:))?/.exec(chars.slice(place, place + 40).join(""))[0];
      if (opening === "(" && chars[place + 1] === "?") throw new Error(`no translation of this group: ${source}`);
      result += opening.replace("?P", "?");
      place += opening.length;
    } else if (char === "{") {
      const quantifier = /^\{(\d*)(,\d*)?\}/.exec(chars.slice(place, place + 24).join(""));
      result += quantifier ? `{${quantifier[1] || 0}${quantifier[2] ?? ""}}` : "\\{";
      place += quantifier ? quantifier[0].length : 1;
    } else {
      const other = { $: END, ".": flags.includes("s") ? "[^]" : "[^\\n]" }[char];
      result += other ?? ("^*+?)|".includes(char) ? char : literal(char, flags));
      place++;
    }
  }
  return result;
}

/** What an escape stands for, and where it ends. */
function escapeAt(chars, place) {
  const char = chars[place + 1];
  const lower = char.toLowerCase();
  if ("wds".includes(lower)) {
    return [{ kind: "class", members: CLASSES[lower], negated: char !== lower }, place + 2];
  }
  const width = { x: 2, u: 4, U: 8 }[char];
  if (width) {
    const code = parseInt(chars.slice(place + 2, place + 2 + width).join(""), 16);
    return [{ kind: "char", char: String.fromCodePoint(code) }, place + 2 + width];
  }
  const pattern = { b: BOUNDARY, Z: "(?![^])" }[char] ?? (/[1-9]/.test(char) ? `\\${char}` : undefined);
  if (pattern) return [{ kind: "pattern", pattern }, place + 2];
  if (/[A-Za-z0]/.test(char) && !(char in CONTROLS)) throw new Error(`no translation of \\${char}`);
  return [{ kind: "char", char: CONTROLS[char] ?? char }, place + 2];
}

/** A class of characters, and where it ends. In JavaScript none can hold what is not of another class. */
function classAt(chars, place, flags) {
  let members = "";
  const without = [];
  const negated = chars[place + 1] === "^";
  place += negated ? 2 : 1;
  for (let first = true; first || chars[place] !== "]"; first = false) {
    let found = { kind: "char", char: chars[place] };
    if (chars[place] === "\\") [found, place] = escapeAt(chars, place);
    else place++;
    if (found.kind === "class") {
      if (found.negated) without.push(found.members);
      else members += found.members;
      continue;
    }
    let last = found;
    if (chars[place] === "-" && chars[place + 1] !== "]") {
      place++;
      if (chars[place] === "\\") [last, place] = escapeAt(chars, place);
      else last = { kind: "char", char: chars[place++] };
      members += range(found.char, last.char, flags);
    } else {
      members += [...variants(found.char, flags)].map(codeOf).join("");
    }
  }
  place++;
  if (!without.length) return [`[${negated ? "^" : ""}${members}]`, place];
  if (!negated) return [`(?:${members && `[${members}]|`}${without.map((set) => `[^${set}]`).join("|")})`, place];
  const others = without.slice(1).map((set) => `(?=[${set}])`);
  return [`(?:${members && `(?![${members}])`}${others.join("")}[${without[0]}])`, place];
}

const codeOf = (char) => `\\u{${char.codePointAt(0).toString(16)}}`;

function range(first, last, flags) {
  const both = `${codeOf(first)}-${codeOf(last)}`;
  if (!flags.includes("i") || !/[a-z]/i.test(first)) return both;
  const small = [first, last].map((char) => codeOf(char.toLowerCase()));
  const large = [first, last].map((char) => codeOf(char.toUpperCase()));
  return small.join("-") + large.join("-");
}

const literal = (char, flags) => {
  const alike = [...variants(char, flags)];
  return alike.length > 1 ? `[${alike.map(codeOf).join("")}]` : codeOf(char);
};

function variants(char, flags) {
  const lower = char.toLowerCase();
  return flags.includes("i") && /[a-z]/i.test(char) ? (ALIKE[lower] ?? lower + lower.toUpperCase()) : char;
}
