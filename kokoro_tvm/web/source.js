/** Texts that record where their characters come from, and the links of markup. */

import { WORD } from "./characters.js";

/**
 * A request for the characters from start to end: phonemes, stress (1 and above is stronger, below 0 weaker), flags of
 * a number ("a" for "a hundred", "&" with "and"), or another text.
 * @typedef {{start: number, end: number, phonemes: string | null, stress: number | null, flags: string, alias: string
 *   | null}} Link
 */

/** @param {number} start @param {number} end @param {Partial<Link>} [request] @returns {Link} */
export const linkFrom = (start, end, request = {}) => ({
  phonemes: null, stress: null, flags: "", alias: null, ...request, start, end,
});

/** @param {Link} link @param {number} by @returns {Link} */
export const moved = (link, by) => ({ ...link, start: link.start + by, end: link.end + by });

/**
 * A text in the form that is read, with the source's slice of every UTF-16 unit.
 *
 * starts, ends: places in the source, one per unit; links: in order of their places in `text`. Values are immutable.
 */
export class SourceText {
  /** @param {string} text @param {number[]} starts @param {number[]} ends @param {Link[]} [links] */
  constructor(text, starts, ends, links = []) {
    this.text = text;
    this.starts = starts;
    this.ends = ends;
    this.links = links;
  }

  /**
   * Return a text that is in its source from `start` on.
   * @param {string} text
   * @param {number} [start]
   */
  static of(text, start = 0) {
    const starts = Array.from(text.split(""), (_, place) => start + place);
    return new SourceText(text, starts, starts.map((place) => place + 1));
  }

  /** Concatenate texts with their places and links. @param {Iterable<SourceText>} parts */
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

  /** Return the text with other links. @param {Link[]} links */
  withLinks(links) {
    return new SourceText(this.text, this.starts, this.ends, links);
  }

  /**
   * Return the source's slice of the characters from `start` to `end`, at least one.
   * @param {number} start
   * @param {number} end
   * @returns {[number, number]}
   */
  span(start, end) {
    let last = this.ends[start];
    for (let place = start + 1; place < end; place++) if (this.ends[place] > last) last = this.ends[place];
    return [this.starts[start], last];
  }

  /** Return the text in one line with single spaces, without links. */
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
