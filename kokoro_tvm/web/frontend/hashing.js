/**
 * The two hash functions that spaCy's models are indexed by.
 *
 * Strings: MurmurHash64A by Austin Appleby, seed 1, as spaCy's StringStore calls it. Rows of an embedding:
 * MurmurHash3_x64_128 of one 64-bit integer, as thinc's HashEmbed calls it. Both are in the public domain.
 */

const MASK = (1n << 64n) - 1n;
const FACTOR = 0xc6a4a7935bd1e995n;
const SEED = 1n;
const UTF8 = new TextEncoder();

/** 64-bit hash of the UTF-8 bytes of `text`; 0 for the empty string. @param {string} text */
export function hashText(text) {
  const data = UTF8.encode(text);
  if (!data.length) return 0n;
  const bytes = new DataView(data.buffer, data.byteOffset, data.length);
  const whole = data.length & ~7;
  let state = SEED ^ ((BigInt(data.length) * FACTOR) & MASK);
  for (let place = 0; place < whole; place += 8) {
    let mixed = (bytes.getBigUint64(place, true) * FACTOR) & MASK;
    mixed = ((mixed ^ (mixed >> 47n)) * FACTOR) & MASK;
    state = ((state ^ mixed) * FACTOR) & MASK;
  }
  if (data.length > whole) {
    let rest = 0n;
    for (let place = data.length - 1; place >= whole; place--) rest = (rest << 8n) | BigInt(data[place]);
    state = ((state ^ rest) * FACTOR) & MASK;
  }
  state = ((state ^ (state >> 47n)) * FACTOR) & MASK;
  return state ^ (state >> 47n);
}

/** What a text is known by: its id among `symbols`, else its hash.
 * @param {string} text @param {Map<string, bigint>} symbols */
export const idOf = (text, symbols) => symbols.get(text) ?? hashText(text);

/** Four 32-bit hashes of a 64-bit id, which address the rows of an embedding.
 * @param {bigint} key @param {number} seed @returns {number[]} */
export function hashRows(key, seed) {
  const mark = BigInt(seed ^ 8);
  let low = (key * 0x87c37b91114253d5n) & MASK;
  low = (((low << 31n) | (low >> 33n)) * 0x4cf5ad432745937fn) & MASK;
  low ^= mark;
  low = (low + mark) & MASK;
  let high = finish((low + mark) & MASK);
  low = (finish(low) + high) & MASK;
  high = (high + low) & MASK;
  return [low & 0xffffffffn, low >> 32n, high & 0xffffffffn, high >> 32n].map(Number);
}

function finish(state) {
  state = ((state ^ (state >> 33n)) * 0xff51afd7ed558ccdn) & MASK;
  state = ((state ^ (state >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK;
  return state ^ (state >> 33n);
}
