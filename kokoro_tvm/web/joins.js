/** Joins of pieces: transitions from sound to silence. */

import { rint } from "./characters.js";
import { ATTACK, FADE, RELEASE } from "./numbers.js";

/** @typedef {import("./plan.js").Piece} Piece */

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
  for (const word of piece.utterance.words) {
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
