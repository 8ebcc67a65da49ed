/** Sentences of a text with markup: a passage in one voice up to a break. */

import { InputError } from "../errors.js";
import { isAlnum } from "../characters.js";
import { LONGEST_PAUSE } from "../limits.js";
import { passages } from "../passages.js";
import { SourceText, moved } from "../source.js";
import { breakOf } from "./items.js";

/** @typedef {import("../joins.js").Boundary} Boundary */
/** @typedef {import("../passages.js").Passage} Passage */
/** @typedef {import("./items.js").Break} Break */
/** @typedef {import("./items.js").Item} Item */
/** @typedef {import("./items.js").Manner} Manner */

const CLOSING_MARKS = new Set(";:,.!?…)”»—。、，；：！？");
/** @type {Boundary[]} */
const RANKS = ["clause", "sentence", "paragraph", "end"];

/**
 * A part of a text, its end, and the requested seconds of silence after it.
 *
 * source: characters with their places and links; manners: per unit, all in one voice; joined: no space before it in
 * the text. A passage without characters is a pause.
 * @typedef {{source: SourceText, manners: Manner[], boundary: Boundary, pause: number | null, joined: boolean}}
 *   MarkedPassage
 */

/** Return the voice of a passage, null for the request's. @param {MarkedPassage} passage */
export const voiceOf = ({ manners }) => (manners.length ? manners[0].voice : null);

/**
 * Yield sentences as soon as their end is known; breaks end a sentence too.
 *
 * Consecutive pauses add up. Throws an InputError if they exceed the longest.
 * @param {Iterable<Item>} items
 * @returns {Iterable<MarkedPassage>}
 */
export function* markedPassages(items) {
  /** @type {MarkedPassage | null} */
  let held = null; // the last passage before breaks, whose boundary is unknown
  let found = breakOf(); // the breaks since then
  const section = new Section(items[Symbol.iterator]());
  while (!section.ended) {
    for (const passage of passages(section.portions())) {
      if (held || found.pause !== null) yield closed(held, found);
      const marked = section.take(passage, found);
      [held, found] = [null, breakOf()];
      if (marked.boundary === "end") held = marked;
      else yield marked;
    }
    section.clear();
    found = both(found, section.found);
  }
  if (held || found.pause !== null) yield closed(held, { ...found, boundary: "end" });
}

function closed(passage, after) {
  const ended = passage ?? { source: SourceText.of(""), manners: [], joined: false };
  return { ...ended, boundary: after.boundary, pause: after.pause };
}

/** @param {Break} first @param {Break} second @returns {Break} */
function both(first, second) {
  const boundary = RANKS[Math.max(RANKS.indexOf(first.boundary), RANKS.indexOf(second.boundary))];
  if (first.pause === null || second.pause === null) return { boundary, pause: first.pause ?? second.pause };
  const sum = first.pause + second.pause;
  if (sum > LONGEST_PAUSE) {
    const lasts = String(Number(sum.toPrecision(6)));
    throw new InputError(`Pauses that follow each other last ${lasts} s; ${LONGEST_PAUSE} s is the longest.`);
  }
  return { boundary, pause: sum };
}

/** The text up to the next break, with the markup of its characters. */
class Section {
  constructor(items) {
    this._items = items;
    this.ended = false;
    this.found = breakOf();
    this._touched = false; // whether the text touches the last passage
    this._text = "";
    this.clear();
  }

  /** Begin a new section. */
  clear() {
    this._touched = this._touched && !this._text;
    this._done = 0; // units of the section that were returned
    this._text = "";
    this._starts = [];
    this._ends = [];
    /** @type {Manner[]} */
    this._manners = [];
    /** @type {import("../source.js").Link[]} */
    this._links = [];
  }

  /** Yield the text for `passages`, in which one word of a link looks like one word. @returns {Iterable<string>} */
  *portions() {
    for (let next; !(next = this._items.next()).done; ) {
      if (!("source" in next.value)) {
        this.found = next.value;
        return;
      }
      yield this._add(next.value);
    }
    [this.found, this.ended] = [breakOf(), true];
  }

  _add({ source, manner }) {
    const start = this._text.length;
    let { text } = source;
    this._text += text;
    for (let place = 0; place < text.length; place++) {
      this._starts.push(source.starts[place]);
      this._ends.push(source.ends[place]);
      this._manners.push(manner);
    }
    this._links.push(...source.links.map((link) => moved(link, start)));
    for (const link of source.links) {
      if (link.phonemes === null && link.alias === null) continue;
      const chars = [...text.slice(link.start, link.end)];
      const word = chars.map((char) => (isAlnum(char) ? char : "x".repeat(char.length))).join("");
      text = text.slice(0, link.start) + word + text.slice(link.end);
    }
    return text;
  }

  /**
   * Return the passage that `passages` found, and drop the text before it.
   *
   * after: the breaks before it. A pause is a space, except before a closing mark.
   * @param {Passage} passage
   * @param {Break} after
   * @returns {MarkedPassage}
   */
  take(passage, after) {
    const first = passage.start - this._done;
    const last = first + passage.text.length;
    const unbroken = after.boundary === "clause" && after.pause === null;
    const touches = unbroken ? this._touched : CLOSING_MARKS.has(passage.text[0]);
    this._touched = true;
    const source = new SourceText(
      this._text.slice(first, last),
      this._starts.slice(first, last),
      this._ends.slice(first, last),
      this._links.filter((link) => link.start < last && link.end > first).map((link) => cut(link, first, last)),
    );
    const manners = this._manners.slice(first, last);
    this._text = this._text.slice(last);
    for (const values of [this._starts, this._ends, this._manners]) values.splice(0, last);
    this._links = this._links.filter((link) => link.end > last).map((link) => moved(link, -last));
    this._done += last;
    return { source, manners, boundary: passage.boundary, pause: null, joined: first === 0 && touches };
  }
}

/** Return the part of a link within a passage. Its replacement is spoken where the link begins. */
function cut(link, first, last) {
  const begun = link.start < first;
  return {
    ...link,
    phonemes: begun && link.phonemes !== null ? "" : link.phonemes,
    alias: begun && link.alias !== null ? "" : link.alias,
    start: Math.max(link.start, first) - first,
    end: Math.min(link.end, last) - first,
  };
}
