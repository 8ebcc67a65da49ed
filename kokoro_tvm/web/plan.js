/**
 * Plans: everything about a speech that is known before the decoder runs, to inspect, save and render.
 *
 * Values are immutable; `with` returns a changed copy. `toNode` returns the JSON of Python's `Plan`, with places in
 * UTF-16 units.
 */

import { InputError } from "./errors.js";
import { length, quote } from "./characters.js";
import { quoted, truncate } from "./notices.js";
import { CUT_FRAMES, FACTORS, HALO_FRAMES, LAST_SOUND, LONGEST_PAUSE } from "./numbers.js";
import { sounds } from "./phonemes.js";

/** Schema of a plan's JSON. */
const SCHEMA = 1;
const MOST_FRAMES = 1 << 24; // of one symbol, above any bucket
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/**
 * A word or a mark with the frames of each symbol.
 *
 * text: in the source, without markup; start, end: its units there; phonemes: symbols that the model knows; space:
 * symbols up to the next word, " " or ""; durations: frames of each symbol of `phonemes + space`, at least 1, or null
 * before the prediction; pitch: factor of the predicted pitch; rate: factor of the plan's speed for predicted
 * durations; joined: no space before it in the text without markup.
 */
export class Word {
  /** @param {{text: string, start: number, end: number, phonemes: string, space?: string, durations?: number[] | null,
   *   pitch?: number, rate?: number, joined?: boolean}} values */
  constructor({ text, start, end, phonemes, space = "", durations = null, pitch = 1, rate = 1, joined = false }) {
    checkFactor(pitch, `pitch of the word ${quoted(text)}`);
    checkFactor(rate, `rate of the word ${quoted(text)}`);
    this.text = text;
    this.start = start;
    this.end = end;
    this.phonemes = phonemes;
    this.space = space;
    this.durations = durations;
    this.pitch = pitch;
    this.rate = rate;
    this.joined = joined;
    if (durations === null) return;
    for (const frames of durations) checkWhole(frames, `duration in ${quoted(text)}`, 1);
    const count = length(this.symbols);
    if (durations.length !== count) {
      throw new InputError(
        `The word ${quoted(text)} has ${durations.length} durations for its ${count} symbols ${quoted(this.symbols)} (the space ` +
          "after it counts). Give one for each, or none (null).",
      );
    }
  }

  /** @param {Partial<Word>} changes @returns {Word} */
  with(changes) {
    return new Word({ ...this, ...changes });
  }

  /** The phonemes and the space after them, one model token each. */
  get symbols() {
    return this.phonemes + this.space;
  }

  /** Whether it has a sound; a mark has none. */
  get spoken() {
    return sounds(this.phonemes);
  }

  /** Frames with the space after it. Throws an InputError before the prediction. */
  get frames() {
    return sum(this.knownDurations);
  }

  /** Frames of the space after it. */
  get spaceFrames() {
    return sum(this.knownDurations.slice(length(this.phonemes)));
  }

  /** Frames from the first to the last sound before a pause: LAST_SOUND of the last phoneme. */
  get heard() {
    const frames = this.knownDurations.slice(0, length(this.phonemes));
    return sum(frames.slice(0, -1)) + Math.min(frames[frames.length - 1], LAST_SOUND);
  }

  /** The durations. Throws an InputError before the prediction. @returns {number[]} */
  get knownDurations() {
    if (this.durations === null) throw new InputError(`How long ${quoted(this.text)} lasts is not known yet.`);
    return this.durations;
  }
}

/**
 * Words of one utterance, or of a part of one, and the silence after them; without words, only silence.
 *
 * style: row of the voice's table; noise: number of the seed's noise; lead, tail: frames of the marks that the model
 * expects at both ends; keep: samples that stay of the quiet before the first sound and after the last, null for all;
 * pause: samples of silence after it; pitch: factors of the predicted pitch, spread over the piece with linear
 * interpolation; voice: null for the plan's; before, after: words of the utterance that other pieces speak, computed with
 * but not heard.
 */
export class Piece {
  /** @param {{words: Word[], style?: number, noise?: number, lead?: number, tail?: number,
   *   keep?: [number | null, number | null], pause?: number, pitch?: number[], voice?: string | null, before?: Word[],
   *   after?: Word[]}} values */
  constructor({
    words, style = 0, noise = 0, lead = 1, tail = 1, keep = [null, null], pause = 0, pitch = [1], voice = null,
    before = [], after = [],
  }) {
    this.style = style;
    this.noise = noise;
    this.lead = lead;
    this.tail = tail;
    this.keep = keep;
    this.pause = pause;
    this.pitch = pitch;
    this.voice = voice;
    this.words = words;
    this.before = before;
    this.after = after;
    for (const [name, least] of [["style", 0], ["noise", 0], ["lead", 1], ["tail", 1]]) {
      checkWhole(this[name], `${name} of a piece`, least);
    }
    checkWhole(pause, "pause of a piece", 0, Infinity);
    for (const samples of keep) if (samples !== null) checkWhole(samples, "number of samples that a piece keeps", 0);
    if (!pitch.length) throw new InputError("The pitch of a piece needs at least one factor; 1 leaves it as predicted.");
    for (const factor of pitch) checkFactor(factor, "pitch of a piece");
    if ((words.length || before.length || after.length) && !this.symbols) {
      throw new InputError("The words of a piece have no phonemes. Remove the words instead.");
    }
  }

  /** @param {Partial<Piece>} changes @returns {Piece} */
  with(changes) {
    return new Piece({ ...this, ...changes });
  }

  /** The whole utterance of the model: the piece, with the words before and after it. @returns {Piece} */
  get utterance() {
    if (!this.before.length && !this.after.length) return this;
    return this.with({ words: [...this.before, ...this.words, ...this.after], before: [], after: [] });
  }

  /** The symbols of its words, one model token each. */
  get symbols() {
    return this.words.map((word) => word.symbols).join("");
  }

  /** Whether all durations of the utterance are known. */
  get complete() {
    return this.utterance.words.every((word) => word.durations !== null);
  }

  /**
   * Frames of every model token, including the marks at the utterance's ends. Throws an InputError before the prediction.
   * @returns {number[]}
   */
  get durations() {
    if (!this.words.length) return [];
    const [lead, tail] = [this.before.length ? [] : [this.lead], this.after.length ? [] : [this.tail]];
    return [...lead, ...this.words.flatMap((word) => word.knownDurations), ...tail];
  }

  /** Frames of all tokens. */
  get frames() {
    return sum(this.durations);
  }

  /**
   * Return the frames before the first sound and after the last; [0, 0] for a piece of marks alone.
   * @returns {[number, number]}
   */
  silence() {
    const spoken = this.words.flatMap((word, place) => (word.spoken ? [place] : []));
    if (!spoken.length) return [0, 0];
    const [first, last] = [spoken[0], spoken[spoken.length - 1]];
    const before = sum(this.words.slice(0, first).map((word) => word.frames));
    const after = sum(this.words.slice(last + 1).map((word) => word.frames));
    return [this.lead + before, this.words[last].frames - this.words[last].heard + after + this.tail];
  }

  /**
   * Return the samples that are cut off at both ends of the utterance.
   * @param {number} samplesPerFrame
   * @returns {[number, number]}
   */
  cut(samplesPerFrame) {
    const [before, after] = this.utterance.silence().map((frames, end) => {
      const kept = this.keep[end];
      return kept === null ? 0 : Math.max(0, frames * samplesPerFrame - kept);
    });
    const [first, last] = this.#span();
    return [
      this.before.length ? first * samplesPerFrame : before,
      this.after.length ? (this.utterance.frames - last) * samplesPerFrame : after,
    ];
  }

  /**
   * Return the first frame of the utterance to decode, and the one after the last.
   * @returns {[number, number]}
   */
  window() {
    const [first, last] = this.#span();
    return [
      this.before.length ? Math.max(0, first - HALO_FRAMES) : 0,
      Math.min(this.utterance.frames, last + HALO_FRAMES),
    ];
  }

  /** Return the first frame of the utterance that is heard, and the one after the last. */
  #span() {
    const frames = (words) => sum(words.map((word) => word.frames));
    const { before, words, after } = this;
    const total = this.utterance.frames;
    const first = before.length ? this.lead + frames(before) - before[before.length - 1].spaceFrames - CUT_FRAMES : 0;
    if (!after.length) return [first, total];
    return [first, total - frames(after) - this.tail - words[words.length - 1].spaceFrames - CUT_FRAMES];
  }

  /** Return the samples of the piece in the speech, including the pause after it. @param {number} samplesPerFrame */
  samples(samplesPerFrame) {
    return this.utterance.frames * samplesPerFrame - sum(this.cut(samplesPerFrame)) + this.pause;
  }
}

/**
 * Pieces in order, with a voice and a seed of the noise.
 *
 * speed: of the predicted durations; seed: 0 to 2**64 - 1; mute: silence below marks, where the model may put other
 * sounds. Rates are the bundle's.
 */
export class Plan {
  /** @param {{pieces: Piece[], voice: string, speed?: number, seed?: bigint, sampleRate?: number,
   *   samplesPerFrame?: number, mute?: boolean}} values */
  constructor({ pieces, voice, speed = 1, seed = 0n, sampleRate = 24_000, samplesPerFrame = 600, mute = true }) {
    this.voice = voice;
    this.speed = speed;
    this.seed = seed;
    this.sampleRate = sampleRate;
    this.samplesPerFrame = samplesPerFrame;
    this.mute = mute;
    this.pieces = pieces;
    if (typeof seed !== "bigint" || seed < 0n || seed >= 2n ** 64n) {
      throw new InputError(`The seed should be a BigInt from 0n to 2n ** 64n - 1n, but is ${String(seed)}.`);
    }
    if (!(Number.isFinite(speed) && speed > 0)) {
      throw new InputError(`The speed of a plan should be a finite number above 0, but is ${speed}.`);
    }
    const place = pieces.findIndex((piece) => piece.pause > LONGEST_PAUSE * sampleRate);
    if (place >= 0) {
      const lasts = (pieces[place].pause / sampleRate).toFixed(0);
      throw new InputError(`The pause after piece ${place} lasts ${lasts} s; ${LONGEST_PAUSE} s is the longest.`);
    }
  }

  /** @param {Partial<Plan>} changes @returns {Plan} */
  with(changes) {
    return new Plan({ ...this, ...changes });
  }

  /** The words and marks of all pieces. @returns {Word[]} */
  get words() {
    return this.pieces.flatMap((piece) => piece.words);
  }

  /** Samples of the speech. Throws an InputError before the prediction. @returns {number} */
  get samples() {
    return sum(this.pieces.map((piece) => piece.samples(this.samplesPerFrame)));
  }

  /** `samples` in seconds. @returns {number} */
  get seconds() {
    return this.samples / this.sampleRate;
  }

  /**
   * Read the JSON of `toNode`. Throws an InputError for another layout.
   * @param {any} node
   * @returns {Plan}
   */
  static fromNode({ schema, sample_rate: sampleRate, samples_per_frame: samplesPerFrame, seed, pieces, ...values }) {
    if (schema !== SCHEMA) throw new InputError(`The plan has schema ${schema}; this version reads ${SCHEMA}.`);
    const whole = Number.isInteger(seed) ? BigInt(seed) : seed; // JSON has no BigInt
    return revived({ ...values, seed: whole, sampleRate, samplesPerFrame, pieces });
  }

  /** Return the plan for JSON.stringify. A seed above 2**53 - 1 loses its last digits in JSON. */
  toNode() {
    const { voice, speed, seed, sampleRate, samplesPerFrame, mute, pieces } = this;
    const rates = { sample_rate: sampleRate, samples_per_frame: samplesPerFrame };
    return { schema: SCHEMA, voice, speed, seed: Number(seed), ...rates, mute, pieces: pieces.map(nodeOf) };
  }
}

/**
 * Restore the classes of a plan that came in a message.
 * @param {any} plan
 * @returns {Plan}
 */
export const revived = ({ pieces, ...values }) => new Plan({ ...values, pieces: pieces.map(revivedPiece) });

/**
 * Restore the classes of a piece that came in a message.
 * @param {any} piece
 * @returns {Piece}
 */
export const revivedPiece = ({ words, before = [], after = [], ...values }) =>
  new Piece({ ...values, words: words.map(revivedWord), before: before.map(revivedWord), after: after.map(revivedWord) });

const revivedWord = (word) => new Word(word);

const nodeOf = (piece) => ({
  ...piece, words: piece.words.map(nodeOfWord), before: piece.before.map(nodeOfWord), after: piece.after.map(nodeOfWord),
});

const nodeOfWord = (word) => ({ ...word });

function checkWhole(value, what, least, most = MOST_FRAMES) {
  if (Number.isInteger(value) && least <= value && value <= most) return;
  const limits = most === Infinity ? `${least} or more` : `within ${least}..${most}`;
  throw new InputError(`The ${what} should be a whole number, ${limits}, but is ${show(value)}.`);
}

function checkFactor(factor, what) {
  const [low, high] = FACTORS;
  if (typeof factor === "number" && low <= factor && factor <= high) return;
  throw new InputError(`The ${what} should be a factor from ${low} to ${high}, but is ${show(factor)}.`);
}

const show = (value) => (truncate(typeof value === "string" ? quote(value) : String(value)));
