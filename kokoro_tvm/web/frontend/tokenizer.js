/**
 * Splits text into words and marks as spaCy's tokenizer does, by rules that come as data.
 *
 * The algorithm is described in spaCy's documentation ("How spaCy's tokenizer works"): split at whitespace, take a word
 * that is an exception as its rule says, else take prefixes and suffixes off it, one of each at a time, then split what
 * is left at infixes. Afterwards, exceptions that were cut apart are put together again.
 */

import { Pattern, endOf, isSpace } from "./python.js";
import { remembered } from "./remembered.js";

/**
 * A word or a mark: its characters, where they start in the text, and whether one space follows; norm: the form that
 * the tagger reads in its place, "" for the one its spelling gives.
 *
 * @typedef {{text: string, start: number, space: boolean, norm: string}} Piece
 */

/**
 * Regular expressions of what stands before, behind and inside a word, and of a whole address; and the exceptions: a
 * word to its pieces, each with its norm or "".
 *
 * @typedef {{prefix: string, suffix: string, infix: string, url: string, exceptions: Map<string, [string, string][]>}}
 *   TokenizerRules
 */

const RUNS = new Pattern("\\s+|\\S{1,256}"); // some of spaCy's rules take quadratic time

/** A tokenizer by `rules`. */
export class Tokenizer {
  /** @param {TokenizerRules} rules */
  constructor(rules) {
    this._prefix = new Pattern(rules.prefix);
    this._suffix = new Pattern(rules.suffix);
    this._infix = new Pattern(rules.infix);
    this._url = new Pattern(rules.url);
    this._exceptions = rules.exceptions;
    this._longest = Math.max(0, ...[...rules.exceptions.keys()].map((word) => word.length));
    this._word = remembered((word) => this._splitWord(word));
    this._cut = remembered((word) => this._cutException(word));
  }

  /** The pieces of a text in order: everything but single spaces, and whitespace beyond those.
   * @param {string} text @returns {Piece[]} */
  split(text) {
    /** @type {Piece[]} */
    const pieces = [];
    for (let [start, part, space] of runs(text)) {
      for (const [piece, norm] of isSpace(part) ? [[part, ""]] : this._word(part)) {
        pieces.push({ text: piece, start, space: false, norm });
        start += piece.length;
      }
      if (space) pieces[pieces.length - 1].space = true;
    }
    return this._restoreExceptions(pieces);
  }

  /** Pieces of a word without whitespace, each with its norm. @returns {[string, string][]} */
  _splitWord(word) {
    const known = this._exceptions.get(word);
    if (known) return known;
    const [before, middle, behind] = this._strip(word, true);
    const inner = this._exceptions.get(middle) ?? plain(middle ? this._splitInside(middle) : []);
    return [...plain(before), ...inner, ...plain(behind)];
  }

  /** Prefixes, what is left, and suffixes; `exceptions`: whether one stops the search.
   * @returns {[string[], string, string[]]} */
  _strip(word, exceptions) {
    const [before, behind] = [[], []];
    const known = (text) => exceptions && this._exceptions.has(text);
    while (word && !known(word)) {
      const first = this._prefix.search(word)?.[0].length ?? 0;
      if (first && known(word.slice(first))) {
        return [[...before, word.slice(0, first)], word.slice(first), behind.reverse()];
      }
      const last = this._suffix.search(word.slice(first))?.[0].length ?? 0;
      const kept = word.length - last;
      if (last && known(word.slice(0, kept))) {
        return [before, word.slice(0, kept), [...behind, word.slice(kept)].reverse()];
      }
      if (first) before.push(word.slice(0, first));
      if (last && (!first || first + last <= word.length)) {
        behind.push(word.slice(kept));
        word = word.slice(0, kept);
      }
      if (!first && !last) break;
      word = word.slice(first);
    }
    return [before, word, behind.reverse()];
  }

  _splitInside(word) {
    if (this._url.match(word)) return [word];
    const parts = [];
    let start = 0;
    for (const match of this._infix.finditer(word)) {
      if (match.index === 0) continue;
      if (match.index !== start) parts.push(word.slice(start, match.index));
      if (match[0]) parts.push(match[0]);
      start = endOf(match);
    }
    if (start < word.length) parts.push(word.slice(start));
    return parts;
  }

  /** The pieces, with those that spell an exception replaced by its own; longer ones come first. */
  _restoreExceptions(pieces) {
    const found = [...this._cutExceptions(pieces)].sort(([a, b], [c, d]) => a - b - (c - d) || a - c);
    if (!found.length) return pieces;
    const [taken, chosen] = [new Set(), new Map()];
    for (const [start, end] of found) {
      if (!taken.has(start) && !taken.has(end - 1)) chosen.set(start, end);
      for (let place = start; place < end; place++) taken.add(place);
    }
    const restored = [];
    for (let place = 0; place < pieces.length; ) {
      const end = chosen.get(place) ?? place + 1;
      const old = pieces.slice(place, end);
      const together = old.every((piece, index) => !index || endOfPiece(old[index - 1]) === piece.start);
      const rule = chosen.has(place) ? this._exceptions.get(spelling(old)) : undefined;
      if (!rule || !together) {
        restored.push(...old);
      } else {
        let start = old[0].start;
        rule.forEach(([text, norm], index) => {
          const space = old[old.length - 1].space && index === rule.length - 1;
          restored.push({ text, start, space, norm });
          start += text.length;
        });
      }
      place = end;
    }
    return restored;
  }

  *_cutExceptions(pieces) {
    for (let start = 0; start < pieces.length; start++) {
      let text = pieces[start].text;
      for (let end = start + 1; text.length <= this._longest; end++) {
        if (this._exceptions.has(text)) {
          const cut = this._cut(text);
          const same = cut.length === end - start && cut.every((part, index) => part === pieces[start + index].text);
          if (same) yield [start, end];
        }
        if (end === pieces.length) break;
        text += pieces[end].text;
      }
    }
  }

  /** The pieces of an exception where it would be none; empty where nothing could cut it. @returns {string[]} */
  _cutException(word) {
    if (!(this._prefix.search(word) || this._suffix.search(word) || this._infix.search(word))) return [];
    const [before, middle, behind] = this._strip(word, false);
    return [...before, ...(middle ? this._splitInside(middle) : []), ...behind];
  }
}

const plain = (parts) => parts.map((part) => [part, ""]);
const spelling = (pieces) => pieces.map((piece) => piece.text).join("");
const endOfPiece = (piece) => piece.start + piece.text.length;

/** (start, characters, whether a space follows that belongs to it) of runs of whitespace and of others.
 * @returns {Iterable<[number, string, boolean]>} */
function* runs(text) {
  let start = 0;
  for (const match of RUNS.finditer(text)) {
    const end = endOf(match);
    if (isSpace(match[0])) {
      if (start < end) yield [start, text.slice(start, end), false];
      start = end;
      continue;
    }
    const space = text[end] === " ";
    yield [match.index, match[0], space];
    start = end + (space ? 1 : 0);
  }
}
