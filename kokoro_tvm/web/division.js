/**
 * Division of words into utterances.
 *
 * A short first piece is heard soon. Very short pieces sound flat, so they are joined with the next. Long ones sound
 * hurried, so they are divided at clauses.
 */

import { length, rstrip } from "./characters.js";
import { middleCut } from "./phonemes.js";

/** @typedef {import("./plan.js").Word} Word */

/**
 * Words of one utterance with unknown durations, and what follows.
 *
 * pause: requested seconds, null if marks decide; voice: null for the request's.
 * @typedef {{words: Word[], boundary: import("./joins.js").Boundary, pause: number | null, voice: string | null}}
 *   Breath
 */

/**
 * Lengths of pieces in symbols of phonemes.
 *
 * first: a longer first piece ends at its first clause; least: a shorter one is joined with the next sentence of the
 * paragraph; most: a longer one is divided, best at a mark.
 * @typedef {{first: number, least: number, most: number}} Division
 */

/** @type {Division} */
export const DIVISION = { first: 60, least: 20, most: 300 };

/**
 * Yield sentences joined and divided by length.
 * @param {Iterable<Breath>} sentences
 * @param {Division} division
 * @returns {Iterable<Breath>}
 */
export function* breaths(sentences, division) {
  /** @type {Breath | null} */
  let held = null;
  let first = true;
  for (let sentence of sentences) {
    if (held && sentence.words.length && held.voice !== sentence.voice) {
      yield* divided(held, division.most);
      [first, held] = [false, null];
    }
    if (held) {
      const before = sentence.words.length ? spaced(held.words) : held.words;
      sentence = { ...sentence, words: [...before, ...sentence.words], voice: held.voice };
      held = null;
    }
    const count = length(symbolsOf(sentence.words));
    const goesOn = sentence.boundary === "sentence" || sentence.boundary === "clause";
    if (count < division.least && goesOn && sentence.pause === null) {
      held = sentence;
      continue;
    }
    if (first && count > division.first) {
      const place = firstClause(sentence.words, division.least);
      if (place !== null) {
        yield before(sentence, sentence.words.slice(0, place));
        sentence = { ...sentence, words: sentence.words.slice(place) };
      }
    }
    first = first && !sentence.words.length;
    yield* divided(sentence, division.most);
  }
  if (held) yield held;
}

/**
 * Divide into parts of at most `most` symbols, as far as possible.
 * @param {Breath} breath
 * @param {number} most
 * @returns {Iterable<Breath>}
 */
function* divided(breath, most) {
  const parts = length(symbolsOf(breath.words)) > most ? halves(breath) : null;
  if (!parts) yield breath;
  else for (const part of parts) yield* divided(part, most);
}

/**
 * Divide at the best place near the middle, or return null.
 * @param {Breath} breath
 * @returns {[Breath, Breath] | null}
 */
export function halves(breath) {
  const cut = middleCut(symbolsOf(breath.words));
  if (cut === null) return null;
  const [left, right] = [[], []];
  let place = 0;
  for (const word of breath.words) {
    const end = place + word.symbols.length;
    if (end <= cut) {
      left.push(word);
    } else if (place >= cut) {
      right.push(word);
    } else {
      // A word of several words, such as a number.
      const [begun, rest] = [word.phonemes.slice(0, cut - place), word.phonemes.slice(cut - place)];
      const phonemes = rstrip(begun);
      left.push(word.with({ phonemes, space: begun.slice(phonemes.length) }));
      right.push(word.with({ phonemes: rest }));
    }
    place = end;
  }
  return [before(breath, left), { ...breath, words: right }];
}

/** Return the phonemes of words. @param {Word[]} words */
export const symbolsOf = (words) => words.map((word) => word.symbols).join("");

/** Return the number of words up to the first clause if both sides are long enough. */
function firstClause(words, least) {
  const total = length(symbolsOf(words));
  let count = 0;
  for (const [place, word] of words.entries()) {
    count += length(word.symbols);
    const ends = !word.spoken && word.space && /[,;:—.!?…]/.test(word.phonemes);
    if (ends && count >= least && total - count >= least) return place + 1;
  }
  return null;
}

function spaced(words) {
  const last = words[words.length - 1];
  return [...words.slice(0, -1), last.space ? last : last.with({ space: " " })];
}

/** Return the first words of a breath as a breath. */
function before(breath, words) {
  const last = words[words.length - 1];
  return { ...breath, words: [...words.slice(0, -1), last.with({ space: "" })], boundary: "clause", pause: null };
}
