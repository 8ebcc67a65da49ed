/** Texts that remember where their characters come from, and what markup says of them. */

import { hasWords } from "./pictures.js";
import { Pattern, bisect } from "./python.js";

/** What stands between spaces. */
export const WORD = new Pattern("\\S+");

/**
 * How the characters from start to end are to be spoken: by their phonemes, with another stress (see `restress`),
 * with flags of a number ("a" for "a hundred", "&" with "and"), or as another text; origin: who gave the phonemes.
 *
 * @typedef {{start: number, end: number, phonemes: string | null, stress: number | null, flags: string,
 *   alias: string | null, origin: string}} Link
 */

/** @param {number} start @param {number} end @param {Partial<Link>} [request] @returns {Link} */
export const linkFrom = (start, end, request = {}) => ({
  phonemes: null, stress: null, flags: "", alias: null, origin: "given", ...request, start, end,
});

/** Whether the characters of a link are not read. @param {Link} link */
export const isFixed = (link) => link.phonemes !== null || link.alias !== null;

/**
 * Other characters in the place of those from start to end; both alike insert.
 *
 * @typedef {{start: number, end: number, text: string}} Edit
 */

/** @param {readonly [number, number]} span @param {string} text @returns {Edit} */
export const edit = ([start, end], text) => ({ start, end, text });

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

  /** A text that is its own source, or stands in it from `start` on.
   * @param {string} text @param {number} [start] @param {Link[]} [links] */
  static of(text, start = 0, links = []) {
    const starts = Array.from(text.split(""), (_, place) => start + place);
    return new SourceText(text, starts, starts.map((place) => place + 1), links);
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

  /** Whether it has a letter, digit or picture, or something that a link says how to speak. */
  get speakable() {
    return hasWords(this.text) || this.links.some((link) => link.phonemes);
  }

  /** Where the characters from `start` to `end` (one at least) come from.
   * @param {number} start @param {number} end @returns {[number, number]} */
  span(start, end) {
    let last = this.ends[start];
    for (let place = start + 1; place < end; place++) if (this.ends[place] > last) last = this.ends[place];
    return [this.starts[start], last];
  }

  /** Slices of the text, none of them empty, with one space for what stands between them.
   *
   * A link belongs to the slice that it begins in; one that begins between two is left out.
   * @param {Iterable<[number, number]>} spans */
  joined(spans) {
    let text = "";
    const [starts, ends, links] = [[], [], []];
    let waiting = -1; // the first link that may begin in what follows
    for (const [first, last] of spans) {
      if (waiting < 0) waiting = bisect(this.links, first, (link) => link.start, true);
      if (text) {
        text += " ";
        starts.push(ends[ends.length - 1]);
        ends.push(this.starts[first]);
      }
      const back = first - text.length;
      text += this.text.slice(first, last);
      for (let place = first; place < last; place++) {
        starts.push(this.starts[place]);
        ends.push(this.ends[place]);
      }
      for (; waiting < this.links.length && this.links[waiting].start < last; waiting++) {
        const link = this.links[waiting];
        if (link.start >= first) links.push(moved(link, -back));
      }
    }
    return new SourceText(text, starts, ends, links);
  }

  /** The text after edits, which are in order and do not overlap each other; all of what is put in stands for all
   * of what it replaces.
   *
   * A link keeps what it spans; of one that says how its words are stressed these may change. An edit of another link,
   * and edits in disorder, are an error.
   * @param {Iterable<Edit>} edits */
  edited(edits) {
    const all = [...edits];
    if (!all.length) return this;
    let text = "";
    const [starts, ends] = [[], []];
    const first = new Int32Array(this.text.length); // place in the text -> in the edited text where its words begin
    const behind = new Int32Array(this.text.length); // -> where they end
    let [done, passed] = [0, 0];
    const keep = (until) => {
      for (let place = done; place < until; place++) {
        first[place] = starts.length;
        behind[place] = starts.length + 1;
        starts.push(this.starts[place]);
        ends.push(this.ends[place]);
      }
      text += this.text.slice(done, until);
    };
    for (const { start, end, text: other } of all) {
      if (!(done <= start && start <= end && end <= this.text.length)) {
        throw new Error(`the edit of ${start} to ${end} is not behind the one before it, or not within the text`);
      }
      keep(start);
      first.fill(starts.length, start, end);
      behind.fill(starts.length + other.length, start, end);
      const [from, to] = this._replaced(start, end);
      text += other;
      for (let unit = 0; unit < other.length; unit++) {
        starts.push(from);
        ends.push(to);
      }
      done = end;
      while (passed < this.links.length && this.links[passed].end <= start) passed++;
      if (passed < this.links.length && this.links[passed].start < end && isFixed(this.links[passed])) {
        throw new Error(`the edit of ${start} to ${end} changes characters of a link`);
      }
    }
    keep(this.text.length);
    const links = this.links
      .map((link) => ({ ...link, start: first[link.start], end: behind[link.end - 1] }))
      .filter((link) => link.start < link.end);
    return new SourceText(text, starts, ends, links);
  }

  _replaced(start, end) {
    if (start < end) return this.span(start, end);
    const place = start ? this.ends[start - 1] : (this.starts[0] ?? 0);
    return [place, place];
  }
}

/** @param {Link} link @param {number} by @returns {Link} */
export const moved = (link, by) => ({ ...link, start: link.start + by, end: link.end + by });

/** The edits that touch no link; both are in the order of their places.
 * @param {Iterable<Edit>} edits @param {Link[]} links @returns {Iterable<Edit>} */
export function* free(edits, links) {
  let place = 0;
  for (const found of edits) {
    while (place < links.length && links[place].end <= found.start) place++;
    if (place === links.length || found.end <= links[place].start) yield found;
  }
}
