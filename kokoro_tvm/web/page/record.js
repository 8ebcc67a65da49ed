/** A growing speech: its samples, its words with their places in the text, and its outline. */

import { Alignment, isWord } from "../alignment.js";

/** @typedef {import("../synthesizer.js").Chunk} Chunk */
/** @typedef {{word: string, start: number, end: number, source: [number, number] | null}} PlacedWord */

const BINS = 100; // of the outline, per second

export class Record {
  /** @param {string} text @param {number} sampleRate */
  constructor(text, sampleRate) {
    this.text = text;
    this.sampleRate = sampleRate;
    /** @type {Float32Array[]} */
    this.pieces = [];
    this.length = 0; // samples
    /** @type {PlacedWord[]} */
    this.words = [];
    /** @type {number[]} the largest magnitude of each hundredth of a second, the last of what there is of it */
    this.outline = [];
    this.done = false; // nothing follows
    this.complete = false; // nothing is missing
    this.changed = false; // parts of it have other settings
    this.#alignment = new Alignment(text);
  }

  #reached = 0; // characters of the text whose audio is there
  #base = 0; // seconds at which the words of the current stream begin
  #alignment;

  get seconds() {
    return this.length / this.sampleRate;
  }

  /** @param {Chunk} chunk @returns {PlacedWord[]} the words that are new, without marks */
  append({ audio, words }) {
    const all = words.map((word) => ({
      word: word.word,
      start: word.start + this.#base,
      end: word.end + this.#base,
      source: this.#alignment.place(word),
    }));
    const placed = all.filter(({ word }) => isWord(word));
    this.words.push(...placed);
    if (audio.length) {
      this.#draw(audio, this.length);
      this.pieces.push(audio);
      this.length += audio.length;
      this.#reached = this.#alignment.reached;
    }
    return placed;
  }

  /**
   * Copy samples from `start` on, fewer at the end.
   * @param {number} start
   * @param {number} count
   * @returns {Float32Array} a copy
   */
  read(start, count) {
    const samples = new Float32Array(Math.max(0, Math.min(count, this.length - start)));
    let first = 0; // of a piece
    for (const piece of this.pieces) {
      const from = Math.max(start, first);
      const to = Math.min(start + samples.length, first + piece.length);
      if (from < to) samples.set(piece.subarray(from - first, to - first), from - start);
      first += piece.length;
    }
    return samples;
  }

  /**
   * Drop everything from a word on, so that another stream continues there.
   * @param {number} place of the word in `words`
   * @param {number} character of the text at which that begins
   */
  cut(place, character) {
    const sample = Math.min(this.length, Math.round((this.words[place]?.start ?? 0) * this.sampleRate));
    const kept = this.read(0, sample);
    this.pieces = kept.length ? [kept] : [];
    this.length = kept.length;
    this.words = this.words.slice(0, place);
    this.outline = [];
    this.#draw(kept, 0);
    this.done = this.complete = false;
    this.changed = true;
    this.#base = this.seconds;
    this.#reached = character;
    this.#alignment = new Alignment(this.text, character);
    return sample;
  }

  /** Return the share of the text whose audio is there, 0 to 1. */
  get share() {
    return this.done || !this.text.length ? 1 : Math.min(1, this.#reached / this.text.length);
  }

  /** Return the seconds of the whole speech: an estimate by the share of the text until it is done. */
  get total() {
    return this.share ? this.seconds / this.share : this.seconds;
  }

  /** @param {number} seconds @returns {number} place of the last word that has begun; -1 before the first */
  wordAt(seconds) {
    let [low, high] = [0, this.words.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.words[middle].start <= seconds) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** @param {Float32Array} audio @param {number} start its first sample */
  #draw(audio, start) {
    const width = this.sampleRate / BINS;
    for (let place = 0; place < audio.length; ) {
      const bin = Math.floor((start + place) / width);
      const end = Math.min(audio.length, Math.ceil((bin + 1) * width) - start);
      let largest = this.outline[bin] ?? 0;
      for (; place < end; place++) largest = Math.max(largest, Math.abs(audio[place]));
      this.outline[bin] = largest;
    }
  }
}
