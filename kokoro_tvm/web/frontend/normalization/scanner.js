/**
 * Divides a text into typed tokens, from its beginning to its end, and puts each in words.
 *
 * At every place where a word, a number or a sign begins, the rules of the language are tried in their order; what none
 * of them knows is a word, figures or a sign by itself. Patterns have no unbounded repetition, so that the time grows
 * with the length of the text.
 */

import {
  Pattern, allFigures, charAt, charBefore, digit, endOf, isAlpha, isAscii, isSpace,
} from "../python.js";
import { remembered } from "../remembered.js";
import { edit, isFixed } from "../source.js";
import { LETTER } from "./language.js";
import { say } from "./templates.js";

/** @typedef {import("../source.js").Edit} Edit */

const WORD = new Pattern(`${LETTER}+(?:'${LETTER}+)*`);
const FIGURES = new Pattern("[0-9]+");
const JOINTS = new Set(".,:/-–"); // a number goes on behind one
const APOSTROPHES = new Set("’ʼ´`＇‘");
const DEEPEST = 3; // parts that are read again within parts
const TAKEN = "\ue000";

/**
 * edits: what is said in the place of what, in order; changed: what is said otherwise than it is written, and how.
 *
 * @typedef {{edits: Edit[], changed: string[]}} Scan
 */

/** Reads texts by the rules of a language. */
export class Scanner {
  /** @param {import("./language.js").Language} language */
  constructor(language) {
    this._language = language;
  }

  /** What of a text is said otherwise than it is written; what a link gives phonemes for is left.
   * @param {import("../source.js").SourceText} source @returns {Scan} */
  scan(source) {
    let text = folded(source.text);
    /** @type {Scan} */
    const scan = { edits: [], changed: [] };
    const flagged = [];
    for (const link of source.links) {
      const written = text.slice(link.start, link.end);
      const isFlagged = link.flags !== "" && allFigures(written);
      if (isFlagged) flagged.push(edit([link.start, link.end], this._flagged(written, link.flags)));
      if (isFlagged || isFixed(link)) {
        text = text.slice(0, link.start) + TAKEN.repeat(written.length) + text.slice(link.end);
      }
    }
    this._scan(text, scan, 0);
    const edits = [...scan.edits, ...flagged].sort((a, b) => a.start - b.start);
    return { ...scan, edits: this._spaced(edits, text) };
  }

  /** A number as a link wants it: with "&" as "a hundred and five" where it has "a" too. */
  _flagged(figures, flags) {
    const words = this._language.spell(figures, this._language.saysAnd && /[&n]/.test(flags) ? "full" : "cardinal");
    return flags.includes("a") ? words.replace(/^one /, "a ") : words;
  }

  /** A part of a form in words. */
  _read(text, scan, depth) {
    const inner = { ...scan, edits: [] };
    this._scan(text, inner, depth + 1);
    let [words, done] = ["", 0];
    for (const { start, end, text: other } of this._spaced(inner.edits, text)) {
      words += text.slice(done, start) + other;
      done = end;
    }
    return words + text.slice(done);
  }

  _scan(text, scan, depth) {
    const chars = new Set(text);
    for (let place = 0; place < text.length; ) {
      const char = charAt(text, place);
      const next = place + char.length;
      const kind = kindOf(char);
      const isBlank = char === " " || char === TAKEN;
      const found = isBlank || depth === DEEPEST ? null : this._form(text, place, kind, chars, scan, depth);
      if (isBlank) {
        place = next;
      } else if (found) {
        scan.edits.push(found);
        place = found.end;
      } else if (kind === "l") {
        place = this._word(text, place, scan);
      } else if (kind === "d") {
        const end = endIn(FIGURES, text, place) ?? next;
        scan.edits.push(edit([place, end], this._language.figures(text.slice(place, end))));
        place = end;
      } else {
        this._sign(char, place, scan, depth);
        place = next;
      }
    }
  }

  /** What the first rule that fits says of the form that begins at a place; chars: those of the text.
   * @returns {Edit | null} */
  _form(text, place, kind, chars, scan, depth) {
    const before = charBefore(text, place);
    const goesOn = before !== "" && before !== TAKEN && kindOf(before) !== "s";
    const inside = this._language.joint !== "" && kind !== "s" && goesOn;
    const twoBefore = charBefore(text, place - before.length);
    const joined = kind === "d" && JOINTS.has(before) && twoBefore !== "" && kindOf(twoBefore) === "d";
    const isPoint = text[place] === "." && /\d/.test(text[place + 1] ?? "");
    for (const rule of this._language.beginning(charAt(text, place), isPoint ? "ps" : kind)) {
      if (inside !== (rule.where === "inside") || (joined && (rule.where ?? "word") === "word")) continue;
      if (rule.needs?.some((set) => ![...set].some((char) => chars.has(char)))) continue;
      const match = this._language.match(rule, text, place);
      if (match) {
        const words = say(this._language, rule, match.groups ?? {}, (part) => this._read(part, scan, depth));
        return edit([place, endOf(match)], words);
      }
    }
    return null;
  }

  /** A word that stays as it is, as far as its letters are the language's. */
  _word(text, place, scan) {
    const first = place + charAt(text, place).length;
    const end = (this._language.joint && endIn(WORD, text, place)) || first;
    const word = text.slice(place, end);
    const read = this._inLetters(word);
    if (read !== word) {
      const said = hasLetters(read) ? read : "";
      scan.edits.push(edit([place, end], said));
      if (said) scan.changed.push(`${word} as ${said}`);
    }
    return end;
  }

  /** A word with letters of the language alone. */
  _inLetters(word) {
    const { letters, replacements } = this._language;
    if (isAscii(word) || letters.fullmatch(word)) return word;
    const inLetters = (char) => (letters.fullmatch(char) ? char : "");
    return Array.from(word, (char) =>
      char === "'" ? char : inLetters(char) || replacements.get(char) || inLetters(charAt(char.normalize("NFKD"), 0)),
    ).join("");
  }

  _sign(char, place, scan, depth) {
    let said = this._language.signs.get(char);
    if (said === undefined && !isAscii(char) && /\p{N}/u.test(char)) {
      const plain = folded(char.normalize("NFKC"));
      const read = plain !== char && depth < DEEPEST ? this._read(plain, scan, depth) : "";
      said = hasLetters(read) ? read : "";
    }
    if (said !== undefined) scan.edits.push(edit([place, place + char.length], said));
  }

  /** The edits with spaces where their words would touch others. @param {Edit[]} edits @param {string} text */
  _spaced(edits, text) {
    if (!this._language.joint) return edits;
    let [done, last] = [-1, ""]; // where the words before end, and with what
    return edits.map(({ start, end, text: words }) => {
      if (!words) return edit([start, end], words);
      const follows = done === start;
      const before = follows ? last : charBefore(text, start) || " ";
      if (before !== " " && words[0] !== " " && (follows || touches(charAt(words, 0), before))) words = ` ${words}`;
      if (touches(charBefore(words, words.length), charAt(text, end) || " ")) words += " ";
      [done, last] = [end, charBefore(words, words.length)];
      return edit([start, end], words);
    });
  }
}

/** The text as rules read it, unit by unit: figures of every script as 0 to 9, every space as one, apostrophes inside a
 * word as ', hyphens and minus signs as -, what is wide as it is narrow. Figures of two units stay.
 * @param {string} text */
export function folded(text) {
  if (isAscii(text)) return text.replace(/[\t-\r\x1c-\x1f]/g, " ");
  const chars = Array.from(text, fold);
  for (let place = 1; place + 1 < chars.length; place++) {
    const isInside = APOSTROPHES.has(chars[place]) && isAlpha(chars[place - 1]) && isAlpha(chars[place + 1]);
    if (isInside) chars[place] = "'";
  }
  return chars.join("");
}

const fold = remembered((char) => {
  if (isSpace(char)) return " ";
  if (/[\uff01-\uff5e]/.test(char)) return String.fromCharCode(char.charCodeAt(0) - 0xfee0);
  if (/[\u2010\u2011\u2212]/.test(char)) return "-";
  return /^\p{Nd}$/u.test(char) && char.length === 1 ? String(digit(char)) : char;
});

const hasLetters = (text) => /\p{L}/u.test(text);

/** l letter, d figure, s sign. */
const kindOf = remembered((char) => (/[\p{L}\p{Mn}\p{Mc}]/u.test(char) ? "l" : /\p{Nd}/u.test(char) ? "d" : "s"));

/** Where what a pattern finds at a place ends. @returns {number | null} */
function endIn(pattern, text, place) {
  const match = pattern.match(text, place);
  return match && endOf(match);
}

const touches = (char, other) => kindOf(char) !== "s" && kindOf(other) !== "s" && !isSpace(other);
