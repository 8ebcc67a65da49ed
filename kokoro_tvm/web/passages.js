/**
 * Sentences of a text that may be incomplete, so that a complete sentence is spoken at once.
 *
 * The end of a sentence depends on the text alone, not on its portions. A heading, an item of a list and a row of a
 * table end where the next line begins something else. A wrong break is heard, a missing one only delays. So a mark
 * before a small letter ends nothing, and one after an abbreviation or an initial only before a word that often begins
 * a sentence.
 */

import { abbreviationIn, beginsSentence } from "./abbreviations.js";
import { MOST, blockAt, isOneLine, mayBegin } from "./blocks.js";
import {
  BLANK, BLANK_LINE, SPACE, back, charAt, endOf, forth, isLower, isPair, length, lstrip, rstrip,
} from "./characters.js";

/**
 * Part of a text without space at both ends, the place of its first character, and its end; "end" if only space
 * follows.
 * @typedef {{text: string, start: number, boundary: import("./joins.js").Boundary}} Passage
 */

const OPENING = new Set("\"'“‘«¿¡([{*_「『（《〈【〔");
const CLOSING = "\"'”’»)\\]}*_」』）》〉】〕";
const WIDE = "。｡！？।॥"; // need no space after them
const QUOTED_ON = /[」』）]/; // a particle may follow, as in 「はい。」と答えた
const HIRAGANA = /^[ぁ-ゟ]/;
const WITHOUT_SPACES = /^[ぁ-ヿ一-鿿]/;
const FRENCH = "(?:[ \\u00a0\\u202f]»(?![\\p{L}\\p{N}_]))?"; // the end of a quote has a space before it; German quotes begin with it
const END = new RegExp(
  `(?<mark>(?:[.!?…]+|[${WIDE}]+)[${CLOSING}]*${FRENCH})(?<gap>[${SPACE}]*)|\\n[${BLANK}]*\\n[${SPACE}]*|\\n[${SPACE}]*`,
  "gu",
);
const CLAUSE = new RegExp(`[;:,—、，；：][${CLOSING}]*[${SPACE}]*`, "gu");
const SPACES = new RegExp(`[${SPACE}]+`, "gu");
const LONGEST = 1500; // characters; a passage without an end of a sentence is cut here
const LONGEST_GAP = 4096; // characters of space to wait for what follows
const UNFINISHED = /^[\p{L}\p{Nl}\p{No}]*(?:['’][\p{L}\p{Nl}\p{No}]*)?$/u;
const LONGEST_WORD = 32; // characters of the word after an abbreviation, and of what follows it
const MOST_OPENING = 64; // quotes and brackets to wait for the letter after them

/**
 * Yield sentences as soon as the text shows their end.
 *
 * A sentence of more than 1500 characters comes in parts.
 * @param {Iterable<string>} portions
 * @returns {Iterable<Passage>}
 */
export function* passages(portions) {
  const reader = new Reader(portions[Symbol.iterator]());
  for (let passage; (passage = reader.read()); ) yield passage;
}

/** Buffer of the unread text. */
class Reader {
  constructor(portions) {
    this._portions = portions;
    this._buffer = "";
    this._start = 0; // place of the buffer in the text
    this._ended = false;
    this._breaks = 2; // line breaks before the buffer, two or more for a blank line; 0 after the check
    this._mark = 0; // length of the block mark at the beginning of the buffer
    this._oneLine = false; // whether the current block ends with its line
    this._numbered = false; // whether the current block belongs to a numbered item
  }

  /** @returns {Passage | null} */
  read() {
    this._skipSpace();
    if (!this._buffer) return null;
    let end;
    while (!(end = this._end())) if (!this._more()) this._ended = true;
    return this._take(...end);
  }

  /** Return (length, boundary) of the first passage in the buffer, or null if more text is needed. */
  _end() {
    const buffer = this._buffer;
    if (this._breaks && !this._beginLine()) return null;
    const longest = forth(buffer, 0, LONGEST);
    for (const result of buffer.matchAll(END)) {
      if (result.index < this._mark) continue; // the point of "2. Second"
      const length = result.index + (result.groups.mark ?? "").length;
      if (result[0].length > LONGEST_GAP) return [length, "paragraph"];
      if (result.index > longest) break;
      if (endOf(result) === buffer.length && !this._ended) return null;
      const boundary = this._boundary(result);
      if (boundary === null) return null;
      if (boundary !== "clause") return [length, boundary];
    }
    // A blank line may be incomplete: cut only what later text cannot change.
    if (forth(buffer, 0, 2 * LONGEST) < buffer.length || (this._ended && longest < buffer.length)) {
      return [this._forced(longest), "clause"];
    }
    return this._ended ? [buffer.length, "end"] : null;
  }

  /** Return the boundary of a match: "clause" if it ends nothing, null if more text is needed. */
  _boundary(result) {
    const buffer = this._buffer;
    const end = endOf(result);
    if (end === buffer.length) return "end";
    if (result[0].includes("\n")) {
      if (!this._showsBlock(end)) return null;
      if (this._oneLine || blockAt(buffer, end, this._numbered)) return "paragraph";
    }
    let after = end;
    while (after < buffer.length && OPENING.has(buffer[after]) && after < end + MOST_OPENING) after++;
    if (after === buffer.length && !this._ended) return null;
    const first = charAt(buffer, after);
    const { mark, gap } = result.groups;
    if (BLANK_LINE.test(result[0])) return "paragraph";
    if (mark === undefined) return "clause";
    if (WIDE.includes(mark[0])) {
      const goesOn = after === end && !gap && QUOTED_ON.test(mark[mark.length - 1]);
      return goesOn && HIRAGANA.test(first) ? "clause" : "sentence";
    }
    if (!gap) return (mark[0] === "!" || mark[0] === "?") && WITHOUT_SPACES.test(first) ? "sentence" : "clause";
    if (isLower(first)) return "clause";
    const abbreviation = mark === "." ? abbreviationIn(buffer.slice(back(buffer, result.index, 20), result.index)) : null;
    if (abbreviation === null) return "sentence";
    const following = buffer.slice(after, forth(buffer, after, LONGEST_WORD));
    if (length(following) < LONGEST_WORD && UNFINISHED.test(following) && !this._ended) return null;
    return beginsSentence(following, abbreviation) ? "sentence" : "clause";
  }

  /** Find the block at the beginning of the buffer; return false if more text is needed. */
  _beginLine() {
    if (!this._showsBlock(0)) return false;
    const block = blockAt(this._buffer, 0, this._numbered || this._breaks > 1);
    this._mark = block ? block.end : 0;
    this._oneLine = block !== null && isOneLine(block.kind);
    if (block || this._breaks > 1) this._numbered = block?.kind === "numbered";
    this._breaks = 0;
    return true;
  }

  /** Return whether the buffer is long enough to know the block at a place. */
  _showsBlock(place) {
    const rest = this._buffer.length - place;
    return this._ended || rest >= MOST || (rest > 0 && !mayBegin(this._buffer[place]));
  }

  /** Return where to cut a passage without an end: after a clause, else at a space, else anywhere. */
  _forced(longest) {
    const window = this._buffer.slice(0, longest);
    const half = forth(window, 0, LONGEST / 2);
    let result = [...window.matchAll(CLAUSE)].filter(({ index }) => index >= half);
    if (!result.length) result = [...window.matchAll(SPACES)];
    return result.length ? endOf(result[result.length - 1]) : longest;
  }

  _take(length, boundary) {
    const passage = { text: rstrip(this._buffer.slice(0, length)), start: this._start, boundary };
    this._buffer = this._buffer.slice(length);
    this._start += length;
    this._mark = 0;
    return passage;
  }

  _skipSpace() {
    do {
      const rest = lstrip(this._buffer);
      const space = this._buffer.slice(0, this._buffer.length - rest.length);
      this._start += space.length;
      this._breaks += space.split("\n").length - 1;
      this._buffer = rest;
    } while (!this._buffer && this._more());
  }

  _more() {
    const { value, done } = this._portions.next();
    if (!done) this._buffer += value;
    return !done;
  }
}

/**
 * Yield portions of at most `most` units that cut no character in two.
 * @param {Iterable<string>} texts
 * @param {number} most
 * @returns {Iterable<string>}
 */
export function* wholeCharacters(texts, most) {
  let held = ""; // the first half of a character
  for (const text of texts) {
    const all = held + text;
    held = /[\ud800-\udbff]$/.test(all) ? all[all.length - 1] : "";
    const ready = held ? all.slice(0, -1) : all;
    for (let place = 0; place < ready.length; ) {
      const end = Math.min(place + most, ready.length);
      const cut = end < ready.length && isPair(ready, end - 1) ? end - 1 : end;
      yield ready.slice(place, cut);
      place = cut;
    }
  }
  if (held) yield held;
}
