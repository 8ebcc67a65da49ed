/**
 * Markup in square brackets: pauses, voices and rates up to the next one, and links of words.
 *
 * `[pause:0.5s]`, `[voice:bf_emma] ... [voice:]`, `[rate:1.2] ... [rate:]`, `[word](/phonemes/)`. Other brackets are
 * text, and `[About us](/about/)` is a link to a page. The result depends on the text alone, not on its portions.
 */

import { BLANK_LINE, forth, length, split, strip } from "../characters.js";
import { quoted } from "../notices.js";
import { SourceText, linkFrom } from "../source.js";
import { PLAIN, breakOf, sameManner } from "./items.js";
import { at, checkSymbols, rate, seconds } from "./values.js";

/** @typedef {import("./items.js").Item} Item */
/** @typedef {import("./items.js").Known} Known */
/** @typedef {import("./items.js").Stretch} Stretch */

/** Maximum number of characters that a link replaces. */
export const LONGEST_LINK = 500;

const ENOUGH = 2 * LONGEST_LINK + 4; // characters that decide what a bracket is
const TOGETHER = 1 << 10;
const SETTING = /^(pause|voice|rate):([^]*)$/;
const BEGUN = /^\[(pause|voice|rate):/;
const SURE = /[ˈˌ ]/; // no path contains these
const LETTERS = /^[a-z]+$/;
const VOWEL = /[aeiou]/;
const NOT_ENGLISH = /[ceoqrxy]/; // phonemes of other languages

/**
 * Parse the round brackets; null for something unknown.
 * @param {string} request
 * @returns {import("../source.js").Link | null}
 */
function linkOf(request) {
  if (/^[-+]?[0-9]+$/.test(request) || ["0.5", "+0.5", "-0.5"].includes(request)) {
    return linkFrom(0, 0, { stress: Number(request) });
  }
  const marks = request.length > 1 ? request[0] + request[request.length - 1] : "";
  if (marks === "//") return linkFrom(0, 0, { phonemes: request.replace(/^\/+|(?<!\/)\/+$/g, "") });
  if (marks === "##") return linkFrom(0, 0, { flags: request.replace(/^#+|(?<!#)#+$/g, "") });
  return null;
}

/**
 * Merge consecutive stretches of one manner.
 * @param {Stretch[]} stretches
 * @returns {Stretch}
 */
const merged = (stretches) => ({
  source: SourceText.concatenated(stretches.map((item) => item.source)),
  manner: stretches[0].manner,
});

/**
 * Parse a text with brackets to stretches and breaks. Throws an InputError with line and column.
 * @param {Iterator<string>} portions
 * @param {Known} known
 * @returns {Iterable<Item>}
 */
export const parseInline = (portions, known) => new Inline(portions, known).items();

/** Buffer of the unparsed text, and the manner of what follows. */
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
    let plain = []; // brackets without a meaning: returned together before more is read
    while (this._buffer || this._more()) {
      const opening = this._buffer.indexOf("[");
      let result = opening === 0 ? [...this._bracket()] : [this._plain(opening < 0 ? this._buffer.length : opening)];
      if (plain.length && !sameManner(plain[0].manner, this._manner)) {
        yield merged(plain);
        plain = [];
      }
      if (result.length === 1 && "source" in result[0] && !result[0].source.links.length) {
        plain.push(result[0]);
        result = [];
      }
      if (plain.length && (result.length || this._buffer.length < ENOUGH || plain.length === TOGETHER)) {
        yield merged(plain);
        plain = [];
      }
      yield* result;
    }
  }

  /** Parse the bracket at the beginning of the buffer; return it unchanged if it has no meaning. */
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

  /** Return the text in square brackets with its link, if that has a meaning. */
  _linked(close, end) {
    let link = linkOf(this._buffer.slice(close + 2, end));
    let text = SourceText.of(this._buffer.slice(1, close), this._start + 1);
    if (link?.phonemes && !this._arePhonemes(link.phonemes, text.text)) link = null;
    if (link) {
      if (link.phonemes) {
        const input = link.phonemes;
        const phonemes = at(this._line, this._column, () => checkSymbols(input, this._known.symbols));
        link = { ...link, phonemes };
      }
      text = text.inOneLine();
      text = text.withLinks([{ ...link, start: 0, end: text.text.length }]);
    }
    this._consume(end + 1);
    return { source: text, manner: this._manner };
  }

  /**
   * Return whether text between slashes is phonemes and not a path: it has a stress mark or a space, or is in the
   * model's alphabet. Small letters are phonemes if they contain a vowel and are possible in the language, and a path
   * if they are a word of the text.
   * @param {string} written
   * @param {string} text
   */
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

  /** Return the place of a character in the buffer, at most `most` characters after `start`, or -1. */
  _find(char, start, most = LONGEST_LINK) {
    for (;;) {
      const end = forth(this._buffer, start, most);
      const result = this._buffer.slice(0, end).indexOf(char, start);
      if (result >= 0) return result;
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
