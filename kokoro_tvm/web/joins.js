/** Joins of pieces: pauses by marks, and transitions from sound to silence. */

import { rint } from "./characters.js";

/** @typedef {import("./plan.js").Word} Word */
/** @typedef {import("./plan.js").Piece} Piece */
/** The end of a part of a text. @typedef {"clause" | "sentence" | "paragraph" | "end"} Boundary */

// A fricative is heard up to 90 ms before the place of its token, after rising from nothing. The last sound has
// ended 20 ms before Word.heard, at -32 dB (docs/timing.py).
/** Seconds that are kept before the place of the first sound. */
export const ATTACK = 0.15;
const RELEASE = 0.05; // seconds that are kept after the last sound
const FADE = 0.01;

/**
 * Seconds from the last sound of a piece to the first of the next, at speed 1.
 *
 * sentence: after . ! ? and at the end of a line of phonemes; ellipsis: after …; semicolon: after ; and : and a dash;
 * comma: after a comma; paragraph: after a blank line; none: after a division at a space.
 * @typedef {{sentence: number, ellipsis: number, semicolon: number, comma: number, paragraph: number, none: number}}
 *   Pauses
 */

/** @type {Pauses} */
export const PAUSES = { sentence: 0.4, ellipsis: 0.6, semicolon: 0.3, comma: 0.2, paragraph: 0.8, none: 0.05 };

/**
 * Return the seconds of silence between words and what follows.
 * @param {Pauses} pauses
 * @param {Word[]} words
 * @param {Boundary} boundary
 */
export function pauseBetween(pauses, words, boundary) {
  if (boundary === "paragraph") return pauses.paragraph;
  let marks = "";
  for (let place = words.length - 1; place >= 0 && !words[place].spoken; place--) marks = words[place].phonemes + marks;
  if (marks.includes("…") || marks.includes("...")) return pauses.ellipsis;
  if (/[.!?]/.test(marks)) return pauses.sentence;
  if (/[;:—]/.test(marks)) return pauses.semicolon;
  if (marks.includes(",")) return pauses.comma;
  return boundary === "sentence" ? pauses.sentence : pauses.none;
}

/**
 * Return (samples kept after the last sound, samples of silence, samples kept before the next sound).
 *
 * Their sum is the pause; a short pause consists of kept sound.
 * @param {number} seconds
 * @param {number} sampleRate
 * @returns {[number, number, number]}
 */
export function pauseAfter(seconds, sampleRate) {
  const total = rint(seconds * sampleRate);
  const [release, attack] = [rint(RELEASE * sampleRate), rint(ATTACK * sampleRate)];
  if (total >= release + attack) return [release, total - release - attack, attack];
  const kept = Math.floor((total * release) / (release + attack));
  return [kept, 0, total - kept];
}

/**
 * Fade audio in by a raised cosine of 10 ms, in place.
 * @param {Float32Array} audio
 * @param {number} sampleRate
 */
export function fadeIn(audio, sampleRate) {
  const count = Math.min(rint(FADE * sampleRate), audio.length);
  for (let place = 0; place < count; place++) audio[place] *= rise(place, count);
}

/**
 * Fade audio out by a raised cosine of 10 ms, in place.
 * @param {Float32Array} audio
 * @param {number} sampleRate
 */
export function fadeOut(audio, sampleRate) {
  const count = Math.min(rint(FADE * sampleRate), audio.length);
  for (let place = 0; place < count; place++) audio[audio.length - 1 - place] *= rise(place, count);
}

/**
 * Return the slices of a piece's uncut samples without speech: before the first word, after the last, and around
 * marks, less attack and release. Short remainders are not muted.
 * @param {Piece} piece
 * @param {number} samplesPerFrame
 * @param {number} sampleRate
 * @returns {[number, number][]}
 */
export function muted(piece, samplesPerFrame, sampleRate) {
  const [release, attack] = [rint(RELEASE * sampleRate), rint(ATTACK * sampleRate)];
  const least = 2 * rint(FADE * sampleRate);
  /** @type {[number, number][]} */
  const spans = [];
  let [begin, sounding, marked] = [0, false, true];
  let place = piece.lead;
  for (const word of piece.words) {
    if (word.spoken) {
      const end = place * samplesPerFrame - attack;
      if (marked && end > begin + least) spans.push([begin, end]);
      begin = (place + word.heard) * samplesPerFrame + release;
      [sounding, marked] = [true, false];
    } else if (word.phonemes) {
      marked = true;
    }
    place += word.frames;
  }
  const total = (place + piece.tail) * samplesPerFrame;
  if (sounding && total > begin + least) spans.push([begin, total]);
  return sounding ? spans : [];
}

/**
 * Mute spans of audio in place, with transitions of 10 ms next to sound.
 * @param {Float32Array} audio
 * @param {[number, number][]} spans
 * @param {number} sampleRate
 */
export function mute(audio, spans, sampleRate) {
  for (const [first, last] of spans) {
    const part = audio.subarray(first, last);
    const count = Math.min(rint(FADE * sampleRate), part.length >> 1);
    for (let place = 0; place < part.length; place++) {
      const behind = part.length - 1 - place;
      let gain = 0;
      if (first > 0 && place < count) gain = rise(count - 1 - place, count);
      else if (last < audio.length && behind < count) gain = rise(count - 1 - behind, count);
      part[place] *= gain;
    }
  }
}

const rise = (place, count) => Math.fround(0.5 - 0.5 * Math.cos((Math.PI * place) / Math.max(count, 1)));
