/** Texts that remember where their characters come from, and what markup says of them. */

import { WORD } from "./characters.js";

/**
 * How the characters from start to end are to be spoken: by their phonemes, with another stress (1 and more is stronger,
 * below 0 weaker), with flags of a number ("a" for "a hundred", "&" with "and"), or as another text.
 *
 * @typedef {{start: number, end: number, phonemes: string | null, stress: number | null, flags: string,
 *   alias: string | null}} Link
 */

/** @param {number} start @param {number} end @param {Partial<Link>} [request] @returns {Link} */
export const linkFrom = (start, end, request = {}) => ({
  phonemes: null, stress: null, flags: "", alias: null, ...request, start, end,
});

/** @param {Link} link @param {number} by @returns {Link} */
export const moved = (link, by) => ({ ...link, start: link.start + by, end: link.end + by });

/**
 * A text as it is to be read, and for every UTF-16 unit of it the slice of the source that it stands for.
 *
 * starts, ends: places in the source, as many as `text` has units; links: in the order of their places, which are
 * places in `text`. Its values do not change.
 */
export class SourceText {
  /** @param {string} text @param {number[]} starts @param {number[]} ends @param {Link[]} [links] */
  constructor(text, starts, ends, links = []) {
    this.text = text;
    this.starts = starts;
    this.ends = ends;
    this.links = links;
  }

  /** A text that stands in its source from `start` on. @param {string} text @param {number} [start] */
  static of(text, start = 0) {
    const starts = Array.from(text.split(""), (_, place) => start + place);
    return new SourceText(text, starts, starts.map((place) => place + 1));
  }

  /** Parts one after the other, with the places and links of each. @param {Iterable<SourceText>} parts */
  static concatenated(parts) {
    let text = "";
    const [starts, ends, links] = [[], [], []];
    for (const part of parts) {
      links.push(...part.links.map((link) => moved(link, text.length)));
      text += part.text;
      for (const place of part.starts) starts.push(place);
      for (const place of part.ends) ends.push(place);
    }
    return new SourceText(text, starts, ends, links);
  }

  /** The same text with other links. @param {Link[]} links */
  withLinks(links) {
    return new SourceText(this.text, this.starts, this.ends, links);
  }

  /** Where the characters from `start` to `end` (one at least) come from.
   * @param {number} start @param {number} end @returns {[number, number]} */
  span(start, end) {
    let last = this.ends[start];
    for (let place = start + 1; place < end; place++) if (this.ends[place] > last) last = this.ends[place];
    return [this.starts[start], last];
  }

  /** Without space at both ends, with one space for every run of it inside, and without links. */
  inOneLine() {
    /** @type {SourceText[]} */
    const parts = [];
    for (const { 0: word, index } of this.text.matchAll(WORD)) {
      const [starts, ends] = [this.starts, this.ends].map((places) => places.slice(index, index + word.length));
      const before = parts[parts.length - 1]?.ends;
      if (before) parts.push(new SourceText(" ", [before[before.length - 1]], [starts[0]]));
      parts.push(new SourceText(word, starts, ends));
    }
    return SourceText.concatenated(parts);
  }
}
