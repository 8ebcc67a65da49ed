/** Words whose phonemes a user gives, in whatever text they stand: they become links of it. */

import { restress } from "./alphabet.js";
import { bisect, charAt, charBefore, forth, isAlnum, split } from "./python.js";
import { linkFrom } from "./source.js";

/** @typedef {import("./source.js").Link} Link */

const plain = (text) => text.replace(/[‘’]/g, "'");

/** Phonemes by spelling; a spelling in small letters stands for all others that no entry has. */
export class UserLexicon {
  /** @param {Iterable<[string, string]>} entries word or words -> phonemes in the alphabet of the voices */
  constructor(entries) {
    this.entries = new Map(Array.from(entries, ([word, phonemes]) => [split(plain(word)).join(" "), phonemes]));
    /** @type {Map<string, number[]>} first letter -> lengths of entries, the longest first */
    this._lengths = new Map();
    for (const word of this.entries.keys()) {
      const first = charAt(word, 0).toLowerCase();
      const lengths = new Set([...(this._lengths.get(first) ?? []), word.length]);
      this._lengths.set(first, [...lengths].sort((a, b) => b - a));
    }
  }

  /** The text with a link for each of its words that is an entry, longest first, unless a link has it.
   * @param {import("./source.js").SourceText} source */
  linked(source) {
    if (!this.entries.size) return source;
    const gives = (link) => link.phonemes !== null || link.alias !== null;
    const taken = source.links.filter(gives);
    let others = source.links.filter((link) => !gives(link));
    const found = [];
    for (const link of this._found(source.text)) {
      if (overlapping(link, taken)) continue;
      found.push({ ...link, phonemes: restress(link.phonemes ?? "", overlapping(link, others)?.stress ?? null) });
    }
    others = others.filter((other) => !overlapping(other, found));
    return source.withLinks([...taken, ...others, ...found].sort((a, b) => a.start - b.start));
  }

  *_found(text) {
    const spelled = plain(text);
    for (let place = 0; place < text.length; ) {
      const end = this._end(spelled, place);
      if (end === null) {
        place = forth(text, place, 1);
      } else {
        const word = spelled.slice(place, end);
        const phonemes = this.entries.get(word) || this.entries.get(word.toLowerCase());
        yield linkFrom(place, end, { phonemes, origin: "user lexicon" });
        place = end;
      }
    }
  }

  /** Where the longest entry ends that begins at a place of the text. */
  _end(text, place) {
    const first = charAt(text, place);
    if (place && inWord(first) && inWord(charBefore(text, place))) return null;
    for (const length of this._lengths.get(first.toLowerCase()) ?? []) {
      const [word, end] = [text.slice(place, place + length), place + length];
      if (!this.entries.has(word) && !this.entries.has(word.toLowerCase())) continue;
      if (!(inWord(charBefore(word, word.length)) && inWord(charAt(text, end)))) return end;
    }
    return null;
  }
}

/** Whether a character is a letter, a figure or a mark that stands with one, such as a vowel sign.
 * @param {string} char */
const inWord = (char) => isAlnum(char) || /^\p{M}$/u.test(char);

/** The first of others, which are in the order of their places, that has a character of a link.
 * @param {Link} link @param {Link[]} others */
function overlapping(link, others) {
  const found = others[bisect(others, link.start, (other) => other.end)];
  return found && found.start < link.end ? found : null;
}
