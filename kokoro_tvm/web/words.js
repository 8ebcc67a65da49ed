/** When each word and each phoneme is heard: by the place of the model's tokens in a plan. */

import { length } from "./characters.js";

/** @typedef {import("./plan.js").Piece} Piece */
/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./plan.js").Word} Word */

/** Frames by which a token is heard before its place in the durations (docs/timing.py). */
const EARLY_FRAMES = 2;
/** Frames at speed 1 that the last phoneme of a word lasts at least if a pause follows that no mark asks for. */
const PAUSING_SOUND = 6;

/**
 * A symbol of the model's alphabet, its samples in the speech as a slice, and its seconds.
 *
 * @typedef {{symbol: string, startSample: number, endSample: number, start: number, end: number}} TimedPhoneme
 */

/**
 * A word or a mark with its samples in the speech as a slice and its seconds, without the space after it.
 *
 * text: as it stands in the source, where it is the units of the slice `source`; spoken: whether it is a word; pause:
 * samples of silence that the plan adds after it, 0 within a piece; piece: its number; joined: whether the text, without
 * its markup, has no space between it and the word before.
 *
 * @typedef {{text: string, source: [number, number], startSample: number, endSample: number, start: number, end: number,
 *   phonemes: TimedPhoneme[], spoken: boolean, piece: number, pause: number, joined: boolean}} TimedWord
 */

/** Words and marks of a plan in order; throws an InputError while a duration is not known.
 * @param {Plan} plan @returns {TimedWord[]} */
export function timeline(plan) {
  /** @type {TimedWord[]} */
  const found = [];
  let start = 0;
  for (const [number, piece] of plan.pieces.entries()) {
    found.push(...wordsOfPiece(plan, piece, number, start));
    start += piece.samples(plan.samplesPerFrame);
  }
  return found;
}

/** Words and marks of a piece whose first sample is the `start`-th of the speech.
 * @param {Plan} plan @param {Piece} piece @param {number} number @param {number} start @returns {Iterable<TimedWord>} */
export function* wordsOfPiece(plan, piece, number, start) {
  const [before, after] = piece.cut(plan.samplesPerFrame);
  const bounds = [start, start - before + piece.frames * plan.samplesPerFrame - after];
  const first = start - before - EARLY_FRAMES * plan.samplesPerFrame;
  let frames = piece.lead;
  let paused = true; // between this word and the one before it
  for (const [place, word] of piece.words.entries()) {
    const following = piece.words.slice(place + 1);
    const space = paused ? 0 : piece.words[place - 1].spaceFrames;
    paused = pauses(plan, word, following);
    const heard = paused && word.spoken ? frames + word.heard : Infinity;
    // Frames at which the word begins, its symbols end, and its sound ends.
    const edges = [frames - space];
    let end = frames;
    for (const duration of word.knownDurations.slice(0, length(word.phonemes))) {
      end += duration;
      edges.push(Math.min(end, heard));
    }
    const samples = edges.map((frame) =>
      Math.min(Math.max(first + frame * plan.samplesPerFrame, bounds[0]), bounds[1]),
    );
    yield timed(plan, word, number, samples, following.length ? 0 : piece.pause);
    frames += word.frames;
  }
}

/** Words as a synthesizer gives them, without marks. @param {TimedWord[]} timeline
 * @returns {import("./synthesizer.js").Word[]} */
export const shown = (timeline) =>
  timeline
    .filter(({ spoken }) => spoken)
    .map(({ text, start, end, source }) => ({ word: text, start, end, source }));

/** Whether nothing is heard between a word and the next: what the last phoneme lasts longer than it sounds is silence.
 * Otherwise the space between them sounds like the beginning of the next (docs/runtime.md).
 *
 * Before a mark and at the end it is so; between words it is so where the last phoneme lasts long. */
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
