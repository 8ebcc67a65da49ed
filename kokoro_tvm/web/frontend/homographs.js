/**
 * Words of two readings: a linear model a word chooses by what the tagger sees and by the words around it.
 *
 * A reading's score is a sum over the tagger's states at the word and its two neighbours, and over names of what stands
 * near it, which share a thousand weights by their hash (Weinberger et al., "Feature hashing for large scale
 * multitask learning", ICML 2009).
 */

import { hashText } from "./hashing.js";

const NEAR = 2; // words on either side whose place counts
const FAR = 8; // and those in any order
const NOTHING = "<>";

/**
 * What was learned.
 *
 * mean, deviation: of the states (3 * channels); weights: 128 for zero (readings, 3 * channels + hashed names); scales
 * and biases (readings); words: a word in small letters -> the phonemes of its readings, whose rows are in this order.
 *
 * @typedef {{mean: Float32Array, deviation: Float32Array, weights: Uint8Array, scales: Float32Array,
 *   biases: Float32Array, words: Map<string, string[]>}} HomographData
 */

/** Chooses readings by `data`. */
export class Homographs {
  /** @param {HomographData} data */
  constructor(data) {
    this._data = data;
    this._width = data.weights.length / data.scales.length;
    /** @type {Map<string, number>} */
    this._rows = new Map();
    let row = 0;
    for (const [word, readings] of data.words) {
      this._rows.set(word, row);
      row += readings.length;
    }
  }

  /** Phonemes of the pieces of a text that are words of two readings, null for all others.
   * @param {string[]} texts @param {string[]} tags @param {Float32Array[]} states of the tagger
   * @returns {(string | null)[]} */
  read(texts, tags, states) {
    const lower = texts.map((text) => text.toLowerCase());
    return lower.map((word, place) => {
      const first = this._rows.get(word);
      return first === undefined ? null : this._choose(first, place, texts[place], lower, tags, states);
    });
  }

  _choose(first, place, text, lower, tags, states) {
    const { mean, deviation, weights, scales, biases, words } = this._data;
    const channels = mean.length / 3;
    const features = mean.map((middle, index) => {
      const state = states[place - 1 + Math.floor(index / channels)];
      return ((state ? state[index % channels] : 0) - middle) / deviation[index];
    });
    const buckets = this._width - features.length;
    const hashed = names(place, text, lower, tags).map((name) => Number(hashText(name) % BigInt(buckets)));
    const readings = words.get(lower[place]);
    const scores = readings.map((_, reading) => {
      const row = first + reading;
      const weight = (column) => weights[row * this._width + column] - 128;
      let score = features.reduce((sum, value, column) => sum + value * weight(column), 0);
      for (const bucket of hashed) score += weight(features.length + bucket);
      return score * scales[row] + biases[row];
    });
    return readings[scores.indexOf(Math.max(...scores))];
  }
}

/** What stands at and around a word, as names. */
function names(place, text, lower, tags) {
  const tag = (step) => tags[place + step] ?? NOTHING;
  const found = [`w:${text}`, `t:${tag(0)}`];
  found.push(`t<:${tag(-1)} ${tag(0)}`, `t>:${tag(0)} ${tag(1)}`, `t<>:${tag(-1)} ${tag(1)}`);
  for (let step = -FAR; step <= FAR; step++) {
    if (!step) continue;
    const word = lower[place + step];
    if (word !== undefined) found.push(`c:${word}`);
    if (Math.abs(step) <= NEAR) found.push(`${step}:${word ?? NOTHING}`, `t${step}:${tag(step)}`);
  }
  return found;
}
