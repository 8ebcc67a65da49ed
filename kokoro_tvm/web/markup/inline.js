/**
 * Markup in square brackets: pauses, voices and rates that last until the next, and links of single words.
 *
 * `[pause:0.5s]`, `[voice:bf_emma] ... [voice:]`, `[rate:1.2] ... [rate:]`, `[word](/phonemes/)`. All other brackets are
 * text, and `[About us](/about/)` is a link to a page. What is parsed depends on the text alone, not on the portions it
 * comes in.
 */

import { BLANK_LINE, forth, length, split, strip } from "../characters.js";
import { quoted } from "../notices.js";
import { SourceText, linkFrom } from "../source.js";
import { PLAIN, breakOf, sameManner } from "./items.js";
import { at, checkSymbols, rate, seconds } from "./values.js";

/** @typedef {import("./items.js").Item} Item */
/** @typedef {import("./items.js").Known} Known */
/** @typedef {import("./items.js").Stretch} Stretch */

/** Characters that phonemes or another text are given for, at most. */
export const LONGEST_LINK = 500;

const ENOUGH = 2 * LONGEST_LINK + 4; // characters in which it shows what a bracket is
const TOGETHER = 1 << 10;
const SETTING = /^(pause|voice|rate):([^]*)$/;
const BEGUN = /^\[(pause|voice|rate):/;
const SURE = /[ˈˌ ]/; // no path has these
const LETTERS = /^[a-z]+$/;
const VOWEL = /[aeiou]/;
const NOT_ENGLISH = /[ceoqrxy]/; // letters that are phonemes of other languages

/** What the round brackets ask for, without its place; null for what is not known.
 * @param {string} request @returns {import("../source.js").Link | null} */
function linkOf(request) {
  if (/^[-+]?[0-9]+$/.test(request) || ["0.5", "+0.5", "-0.5"].includes(request)) {
    return linkFrom(0, 0, { stress: Number(request) });
  }
  const marks = request.length > 1 ? request[0] + request[request.length - 1] : "";
  if (marks === "//") return linkFrom(0, 0, { phonemes: request.replace(/^\/+|(?<!\/)\/+$/g, "") });
  if (marks === "##") return linkFrom(0, 0, { flags: request.replace(/^#+|(?<!#)#+$/g, "") });
  return null;
}

/** Stretches of one manner that follow each other, as one. @param {Stretch[]} stretches @returns {Stretch} */
const merged = (stretches) => ({
  source: SourceText.concatenated(stretches.map((each) => each.source)),
  manner: stretches[0].manner,
});

/** Stretches and breaks of a text with brackets, as it comes. Throws an InputError with line and column.
 * @param {Iterator<string>} portions @param {Known} known @returns {Iterable<Item>} */
export const parseInline = (portions, known) => new Inline(portions, known).items();

/** The text that has come and is not parsed yet, and the manner of what follows. */
class Inline {
  constructor(portions, known) {
    this._portions = portions;
    this._known = known;
    this._buffer = "";
    this._start = 0; // place of the buffer in the text
    this._line = 1;
    this._column = 1;
    this._manner = PLAIN;
  }

  *items() {
    /** @type {Stretch[]} */
    let plain = []; // brackets that were none: handed out together, but before more is read
    while (this._buffer || this._more()) {
      const opening = this._buffer.indexOf("[");
      let found = opening === 0 ? [...this._bracket()] : [this._plain(opening < 0 ? this._buffer.length : opening)];
      if (plain.length && !sameManner(plain[0].manner, this._manner)) {
        yield merged(plain);
        plain = [];
      }
      if (found.length === 1 && "source" in found[0] && !found[0].source.links.length) {
        plain.push(found[0]);
        found = [];
      }
      if (plain.length && (found.length || this._buffer.length < ENOUGH || plain.length === TOGETHER)) {
        yield merged(plain);
        plain = [];
      }
      yield* found;
    }
  }

  /** What the bracket at the beginning of the buffer asks for; itself where that is nothing. */
  *_bracket() {
    const close = this._find("]", 1);
    const inner = close > 0 ? this._buffer.slice(1, close) : "[";
    const setting = SETTING.exec(inner);
    if (inner.includes("[") || BLANK_LINE.test(inner) || !strip(inner)) {
      const begun = BEGUN.exec(this._buffer);
      if (begun) this._note(`'${begun[0]}' has no closing bracket`);
    } else if (setting) {
      yield* this._set(setting[1], setting[2]);
      this._consume(close + 1);
      return;
    } else if (this._find("(", close + 1, 1) > 0) {
      const end = this._find(")", close + 2);
      if (end > 0) {
        yield this._linked(close, end);
        return;
      }
      if (this._buffer[close + 2] === "/") {
        this._note(`${quoted(this._buffer.slice(0, close + 3))} has no closing round bracket`);
      }
    }
    yield this._plain(1);
  }

  _set(name, written) {
    const value = strip(written);
    return at(this._line, this._column, () => {
      if (name === "pause") return [breakOf({ pause: seconds(value, "[pause:0.5s] or [pause:500ms]") })];
      if (name === "rate") {
        this._manner = { ...this._manner, rate: value ? rate(value) : 1 };
        return [];
      }
      this._known.language(value || null);
      if ((value || null) === this._manner.voice) return [];
      this._manner = { ...this._manner, voice: value || null };
      return [breakOf()];
    });
  }

  /** The text in square brackets, with what the round ones ask for; what is unknown asks for nothing. */
  _linked(close, end) {
    let link = linkOf(this._buffer.slice(close + 2, end));
    let text = SourceText.of(this._buffer.slice(1, close), this._start + 1);
    if (link?.phonemes && !this._arePhonemes(link.phonemes, text.text)) link = null;
    if (link) {
      if (link.phonemes) {
        const given = link.phonemes;
        const phonemes = at(this._line, this._column, () => checkSymbols(given, this._known.symbols));
        link = { ...link, phonemes };
      }
      text = text.inOneLine();
      text = text.withLinks([{ ...link, start: 0, end: text.text.length }]);
    }
    this._consume(end + 1);
    return { source: text, manner: this._manner };
  }

  /** Whether what stands between slashes is no path: with a mark of stress or a space, or in the model's alphabet. Small
   * letters alone are phonemes with a vowel among them, if the language may have them all, and a path where they are a word
   * of the text.
   * @param {string} written @param {string} text */
  _arePhonemes(written, text) {
    if (SURE.test(written)) return true;
    if (![...written].every((symbol) => this._known.symbols.has(symbol))) return false;
    if (!LETTERS.test(written)) return true;
    const english = ["a", "b"].includes(this._known.language(this._manner.voice));
    return VOWEL.test(written) && !(english && NOT_ENGLISH.test(written)) && !split(text.toLowerCase()).includes(written);
  }

  _plain(length) {
    const source = SourceText.of(this._buffer.slice(0, length), this._start);
    this._consume(length);
    return { source, manner: this._manner };
  }

  /** The place of a character in the buffer, at most `most` characters from `start` on; -1 where it is not. */
  _find(char, start, most = LONGEST_LINK) {
    for (;;) {
      const end = forth(this._buffer, start, most);
      const found = this._buffer.slice(0, end).indexOf(char, start);
      if (found >= 0) return found;
      if (length(this._buffer.slice(start, end)) >= most || !this._more()) return -1;
    }
  }

  _note(what) {
    this._known.warn(`In line ${this._line}, column ${this._column}, ${what}; it is read as text.`);
  }

  _consume(count) {
    const done = this._buffer.slice(0, count);
    const lines = done.split("\n");
    this._line += lines.length - 1;
    this._column = (lines.length > 1 ? 1 : this._column) + length(lines[lines.length - 1]);
    this._start += count;
    this._buffer = this._buffer.slice(count);
  }

  _more() {
    const { value, done } = this._portions.next();
    if (!done) this._buffer += value;
    return !done;
  }
}
