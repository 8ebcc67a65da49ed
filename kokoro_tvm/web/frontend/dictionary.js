/**
 * A dictionary in little memory: sorted words in small blocks, found by bisection. Its layout is that of
 * kokoro_tvm/runtime/text/frontend/dictionary.py; here its stream is unpacked as a whole, and a word is one of bytes.
 *
 * As a Map, the two hundred thousand words of one English would take 40 MB and more.
 */

import { remembered } from "./remembered.js";

/**
 * Phonemes of a word; or phonemes by part of speech, "DEFAULT" among them. null: spelled letter by letter.
 *
 * @typedef {string | Record<string, string | null>} Entry
 */

const [END, NAME, TEXT] = [0, 1, 2];
const SEPARATORS = 3;

/** Words to entries. */
export class Dictionary {
  /** Open what Python's `pack` made. @param {Uint8Array} packed @returns {Promise<Dictionary>} */
  static async open(packed) {
    const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
    const numbers = (start, count) => Array.from({ length: count }, (_, i) => view.getUint32(start + 4 * i, true));
    const [chars] = numbers(0, 1);
    const [blocks] = numbers(4 + 4 * chars, 1);
    const index = numbers(8 + 4 * chars, 3 * blocks + 3);
    const words = 8 + 4 * (chars + index.length);
    const plain = await unpacked(packed.subarray(words + index[3 * blocks + 2]));
    return new Dictionary(numbers(4, chars), index, packed.subarray(words), plain);
  }

  /** @param {number[]} alphabet code points @param {number[]} index of the blocks: places in the stream, in `plain`,
   * and in `words`, the first ones of the blocks @param {Uint8Array} words @param {Uint8Array} plain the blocks */
  constructor(alphabet, index, words, plain) {
    this._chars = alphabet.map((point) => String.fromCodePoint(point));
    this._codes = new Map(this._chars.map((char, place) => [char, place + SEPARATORS]));
    this._blocks = index.length / 3 - 1;
    this._index = index;
    this._words = words;
    this._plain = plain;
    /** The entry of a word as it is written here, capitals and all; null where there is none.
     * @type {(word: string) => Entry | null} */
    this.get = remembered((word) => this._get(word));
  }

  /** All words with their entries. @returns {Iterable<[string, Entry]>} */
  *entries() {
    for (let block = 0; block < this._blocks; block++) {
      const [start, end] = this._span(block);
      const words = [];
      let [place, word] = [start, []];
      for (let left = this._count(start, end); left; left--) {
        const stop = this._plain.indexOf(END, place);
        word = [...word.slice(0, this._plain[place] - 1), ...this._plain.subarray(place + 1, stop)];
        words.push(this._decoded(word));
        place = stop + 1;
      }
      for (const each of words) {
        yield [each, this._entry(place)];
        place = this._plain.indexOf(END, place) + 1;
      }
    }
  }

  _span(block) {
    return [this._index[3 * block + 1], this._index[3 * block + 4]];
  }

  /** How many words the block between two places has. */
  _count(start, end) {
    let parts = 0;
    for (let place = start; place < end; place++) parts += Number(this._plain[place] === END);
    return parts / 2;
  }

  _get(word) {
    const key = [];
    for (const char of word) {
      const code = this._codes.get(char);
      if (!code) return null;
      key.push(code);
    }
    let [low, high] = [0, this._blocks];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this._isAfter(middle, key)) high = middle;
      else low = middle + 1;
    }
    return low ? this._in(key, ...this._span(low - 1)) : null;
  }

  /** Whether the first word of a block stands behind a key. */
  _isAfter(block, key) {
    const [start, end] = [this._index[3 * block + 2], this._index[3 * block + 5]];
    for (let place = start; place < end; place++) {
      const order = this._words[place] - (key[place - start] ?? -1);
      if (order) return order > 0;
    }
    return false;
  }

  /** The entry of a key in the block between two places. */
  _in(key, start, end) {
    let [place, alike] = [start, 0]; // bytes that the key shares with the word before
    for (let index = 0, count = this._count(start, end); index < count; index++) {
      const shared = this._plain[place] - 1;
      if (shared < alike) return null; // behind the key
      if (shared === alike) {
        while (alike < key.length && this._plain[place + 1 + alike - shared] === key[alike]) alike++;
        const next = this._plain[place + 1 + alike - shared];
        if (alike === key.length && next === END) return this._entry(this._behind(start, count + index));
        if (alike === key.length || next > key[alike]) return null;
      }
      place = this._plain.indexOf(END, place) + 1;
    }
    return null;
  }

  /** The place behind so many parts. */
  _behind(place, parts) {
    while (parts--) place = this._plain.indexOf(END, place) + 1;
    return place;
  }

  _entry(place) {
    const value = this._plain.subarray(place, this._plain.indexOf(END, place));
    if (value[0] !== NAME) return this._decoded(value);
    /** @type {Record<string, string | null>} */
    const entry = {};
    for (let start = 1; start < value.length; ) {
      const next = value.indexOf(NAME, start);
      const named = value.subarray(start, next < 0 ? value.length : next);
      const text = named.indexOf(TEXT);
      if (text < 0) entry[this._decoded(named)] = null;
      else entry[this._decoded(named.subarray(0, text))] = this._decoded(named.subarray(text + 1));
      start += named.length + 1;
    }
    return entry;
  }

  _decoded(coded) {
    return Array.from(coded, (code) => this._chars[code - SEPARATORS]).join("");
  }
}

/** What zlib packed. @param {Uint8Array} values @returns {Promise<Uint8Array>} */
export async function unpacked(values) {
  const stream = new Blob([values]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
