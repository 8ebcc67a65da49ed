/** Times of words and phonemes from the tokens of a plan. */

import { length } from "./characters.js";
import { EARLY_FRAMES, PAUSING_SOUND } from "./numbers.js";

/** @typedef {import("./plan.js").Piece} Piece */
/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./plan.js").Word} Word */

/**
 * A symbol of the model's alphabet with its slice of samples and its seconds.
 * @typedef {{symbol: string, startSample: number, endSample: number, start: number, end: number}} TimedPhoneme
 */

/**
 * A word or a mark with its slice of samples and its seconds, without the space after it.
 *
 * text: in the source, at the slice `source`; spoken: whether it is a word; pause: planned samples of silence after
 * it, 0 within a piece; piece: its number; joined: no space before it in the text without markup.
 * @typedef {{text: string, source: [number, number], startSample: number, endSample: number, start: number, end:
 *   number, phonemes: TimedPhoneme[], spoken: boolean, piece: number, pause: number, joined: boolean}} TimedWord
 */

/**
 * Return words and marks of a plan in order. Throws an InputError before the prediction.
 * @param {Plan} plan
 * @returns {TimedWord[]}
 */
export function timeline(plan) {
  /** @type {TimedWord[]} */
  const result = [];
  let start = 0;
  for (const [number, piece] of plan.pieces.entries()) {
    result.push(...wordsOfPiece(plan, piece, number, start));
    start += piece.samples(plan.samplesPerFrame);
  }
  return result;
}

/**
 * Yield words and marks of a piece whose first sample is the `start`-th of the speech.
 * @param {Plan} plan
 * @param {Piece} piece
 * @param {number} number
 * @param {number} start
 * @returns {Iterable<TimedWord>}
 */
export function* wordsOfPiece(plan, piece, number, start) {
  const [before, after] = piece.cut(plan.samplesPerFrame);
  const whole = piece.utterance;
  const bounds = [start, start - before + whole.frames * plan.samplesPerFrame - after];
  const first = start - before - EARLY_FRAMES * plan.samplesPerFrame;
  let frames = piece.lead;
  let paused = true; // between this word and the previous one
  const end = piece.before.length + piece.words.length; // of the words that are heard
  for (const [place, word] of whole.words.entries()) {
    const following = whole.words.slice(place + 1);
    const space = paused ? 0 : whole.words[place - 1].spaceFrames;
    paused = pauses(plan, word, following);
    const heard = paused && word.spoken ? frames + word.heard : Infinity;
    // Frames at which the word begins, its symbols end, and its sound ends.
    const edges = [frames - space];
    let reached = frames;
    for (const duration of word.knownDurations.slice(0, length(word.phonemes))) {
      reached += duration;
      edges.push(Math.min(reached, heard));
    }
    const samples = edges.map((frame) =>
      Math.min(Math.max(first + frame * plan.samplesPerFrame, bounds[0]), bounds[1]),
    );
    if (piece.before.length <= place && place < end) {
      yield timed(plan, word, number, samples, place === end - 1 ? piece.pause : 0);
    }
    frames += word.frames;
  }
}

/**
 * Return words as a synthesizer returns them, without marks.
 * @param {TimedWord[]} timeline
 * @returns {import("./synthesizer.js").Word[]}
 */
export const shown = (timeline) =>
  timeline
    .filter(({ spoken }) => spoken)
    .map(({ text, start, end, source }) => ({ word: text, start, end, source }));

/**
 * Return whether a word is followed by silence: then the last phoneme's excess duration is silence. Otherwise the
 * space sounds like the beginning of the next word (docs/runtime.md).
 *
 * A mark and the end imply silence; between words, a long last phoneme does.
 */
function pauses(plan, word, following) {
  const after = following.find((other) => other.phonemes);
  if (!word.spoken || !after?.spoken) return true;
  const last = word.knownDurations[length(word.phonemes) - 1];
  return last * Math.min(1, plan.speed * word.rate) >= PAUSING_SOUND;
}

/** @returns {TimedWord} */
function timed(plan, word, piece, samples, pause) {
  const slice = (startSample, endSample) => ({
    startSample, endSample, start: startSample / plan.sampleRate, end: endSample / plan.sampleRate,
  });
  const phonemes = Array.from(word.phonemes, (symbol, place) => ({
    symbol, ...slice(samples[place], samples[place + 1]),
  }));
  const { text, spoken, joined } = word;
  const own = slice(samples[0], samples[samples.length - 1]);
  return { text, source: [word.start, word.end], ...own, phonemes, spoken, piece, pause, joined };
}
