/**
 * A lexicon in little memory: one block of sorted lines, found by bisection.
 *
 * As a Map, the two hundred thousand words of one English would take 40 MB and more.
 */

import { remembered } from "./remembered.js";

/**
 * Phonemes of a word; or phonemes by part of speech, "DEFAULT" among them. null: spelled letter by letter.
 *
 * @typedef {string | Record<string, string | null>} Entry
 */

const BLOCK = 1024; // bytes between two lines whose words are bisected
const TAB = 9;
const LINE = 10;
const UTF8 = new TextEncoder();
const TEXT = new TextDecoder();

/** Words to entries. */
export class Dictionary {
  /** @param {Uint8Array} lines sorted by their bytes, "word<tab>phonemes"; of an entry with parts of speech, its JSON */
  constructor(lines) {
    this._lines = lines;
    /** Where the first line of every block begins. @type {number[]} */
    this._starts = [];
    for (let place = 0; place < lines.length; ) {
      this._starts.push(place);
      const end = lines.indexOf(LINE, place + BLOCK - 1);
      place = end < 0 ? lines.length : end + 1;
    }
    /** The entry of a word as it is written here, capitals and all; null where there is none.
     * @type {(word: string) => Entry | null} */
    this.get = remembered((word) => this._get(UTF8.encode(word)));
  }

  _get(key) {
    let [low, high] = [0, this._starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this._compare(key, this._starts[middle]) >= 0) low = middle + 1;
      else high = middle;
    }
    if (!low) return null;
    const end = this._starts[low] ?? this._lines.length;
    for (let place = this._starts[low - 1]; place < end; place = this._lines.indexOf(LINE, place) + 1) {
      if (this._compare(key, place) === 0) return this._entry(place + key.length + 1);
    }
    return null;
  }

  _entry(place) {
    const spelled = TEXT.decode(this._lines.subarray(place, this._lines.indexOf(LINE, place)));
    return spelled.startsWith("{") ? JSON.parse(spelled) : spelled;
  }

  /** Below 0 where a key stands before the word of the line at a place, 0 where it is that word. */
  _compare(key, place) {
    for (let index = 0; index < key.length; index++) {
      const byte = this._lines[place + index];
      if (byte === TAB) return 1;
      if (key[index] !== byte) return key[index] - byte;
    }
    return this._lines[place + key.length] === TAB ? 0 : -1;
  }
}
