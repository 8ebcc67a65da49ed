/** From sentences to pieces, each as soon as its successor is known. */

import { breaths, halves, symbolsOf } from "./division.js";
import { InputError } from "./errors.js";
import { isSpace, length, quote, rint } from "./characters.js";
import { ATTACK, pauseAfter, pauseBetween } from "./joins.js";
import { boundSpeed, SPEEDS } from "./limits.js";
import { MARKS } from "./marks.js";
import { quoted, truncate } from "./notices.js";
import { codeOf, encode, hasSound, sorted } from "./phonemes.js";
import { Piece } from "./plan.js";
import { rowOf, styleOf } from "./voices.js";

/** @typedef {import("./division.js").Breath} Breath */
/** @typedef {import("./phonemes.js").Vocabulary} Vocabulary */
/** @typedef {import("./plan.js").Word} Word */
/** @typedef {import("./voices.js").Table} Table */

/**
 * A model that predicts durations.
 *
 * vocabulary, sampleRate: the bundle's; most: maximum tokens, including the marks at both ends, and frames of an
 * utterance; predict: returns the duration of every token in frames at speed 1, and features for the decoder.
 * @typedef {{vocabulary: Vocabulary, sampleRate: number, most: {tokens: number, frames: number}, predict: (tokens:
 *   number[], style: Float32Array) => Promise<{durations: Float32Array, features: unknown}>}} Model
 */

/**
 * A piece with known durations, and the features of its prediction (null for silence).
 * @typedef {{piece: Piece, features: unknown}} Planned
 */

/**
 * How to speak. table: returns the table of a voice (null: the request's); speed; pauses and division between pieces.
 * @typedef {{table: (voice: string | null) => Table, speed: number, pauses: import("./joins.js").Pauses, division:
 *   import("./division.js").Division}} Style
 */

/**
 * Yield pieces with durations as soon as their words and successors are known.
 *
 * Throws an InputError for a part that is too long and cannot be divided, and if the model knows none of the phonemes.
 * @param {Model} model
 * @param {Iterable<Breath>} sentences
 * @param {Style} style
 * @param {import("./notices.js").Warn} warn
 * @returns {AsyncIterable<Planned>}
 */
export async function* planPieces(model, sentences, style, warn) {
  const notices = new Notices(model.vocabulary, style.speed, warn);
  /** @type {number | null} */
  let keep = null;
  let number = 0;
  let spoken = false;
  const rate = model.sampleRate;
  for (const breath of breaths(sentences, style.division)) {
    notices.warnOf(breath.words);
    for await (const [part, planned] of fitting(model, breath, style, number)) {
      let { piece } = planned;
      if (piece.words.length) {
        spoken = true;
        const [release, pause, attack] = silence(part, style, rate);
        piece = piece.with({ keep: [keep, release], pause, voice: part.voice });
        keep = attack;
      } else {
        let pause = rint((part.pause ?? 0) * rate);
        if (keep === null) {
          // Before the first sound, which keeps a part of the silence.
          keep = Math.min(pause, rint(ATTACK * rate));
          pause -= keep;
        }
        piece = piece.with({ pause });
      }
      number++;
      yield { ...planned, piece };
    }
  }
  if (!spoken) throw new InputError("There is nothing to speak: the model knows none of the text's phonemes.");
}

/**
 * Return `pauseAfter` of a part; at the end of the text, everything is kept.
 * @returns {[number | null, number, number]}
 */
function silence(part, style, sampleRate) {
  if (part.pause !== null) {
    const [release, pause, attack] = pauseAfter(part.pause, sampleRate);
    return part.boundary === "end" ? [release, pause + attack, 0] : [release, pause, attack];
  }
  if (part.boundary === "end") return [null, 0, 0];
  const { rate } = part.words[part.words.length - 1];
  return pauseAfter(pauseBetween(style.pauses, part.words, part.boundary) / boundSpeed(style.speed, rate), sampleRate);
}

/**
 * Yield parts whose tokens and predicted frames fit the model, numbered from `number`.
 * @returns {AsyncIterable<[Breath, Planned]>}
 */
async function* fitting(model, breath, style, number) {
  const waiting = [breath];
  while (waiting.length) {
    const part = waiting.shift();
    if (!hasSound(symbolsOf(part.words), model.vocabulary)) {
      if (part.pause !== null) yield [part, { piece: new Piece({ words: [], noise: number++ }), features: null }];
      continue;
    }
    const planned = await predicted(model, part, style, number);
    if (planned) {
      yield [part, planned];
      number++;
      continue;
    }
    const parts = halves(part);
    if (!parts) throw new InputError(indivisible(model, part.words, style.speed));
    waiting.unshift(...parts);
  }
}

/** Predict the durations of a part; null if it is too long. @returns {Promise<Planned | null>} */
async function predicted(model, part, style, number) {
  const table = await style.table(part.voice);
  const row = rowOf(table, symbolsOf(part.words));
  const words = part.words.map((word) => known(word, model.vocabulary));
  const tokens = encode(symbolsOf(words), model.vocabulary);
  if (tokens.length > model.most.tokens) return null;
  const { durations, features } = await model.predict(tokens, styleOf(table, row));
  const rates = words.flatMap((word) => Array(length(word.symbols)).fill(word.rate));
  const frames = spokenDurations(durations, [1, ...rates, 1].map((rate) => boundSpeed(style.speed, rate)));
  if (frames.reduce((a, b) => a + b) > model.most.frames) return null;
  let place = 1;
  const timed = words.map((word) => {
    const first = place;
    place += length(word.symbols);
    return word.with({ durations: frames.slice(first, place) });
  });
  const [lead, tail] = [frames[0], frames[frames.length - 1]];
  return { piece: new Piece({ words: timed, style: row, noise: number, lead, tail }), features };
}

/**
 * Return whole frames per token: max(1, duration / speed), halves to even. Both ends do not grow.
 *
 * The marks at both ends are silent if they last as long as in training; longer ones sound like a vowel. The division
 * is in float32.
 * @param {Float32Array} durations in frames at speed 1
 * @param {number[]} speeds of every token
 */
export function spokenDurations(durations, speeds) {
  const whole = (duration, speed) => {
    if (!Number.isFinite(duration)) throw new Error("The duration component gave a value that is not finite.");
    return Math.max(1, rint(Math.fround(duration / Math.max(Math.fround(speed), 2 ** -126))));
  };
  const last = durations.length - 1;
  return Array.from(durations, (duration, place) => {
    const frames = whole(duration, speeds[place]);
    return place === 0 || place === last ? Math.min(frames, whole(duration, 1)) : frames;
  });
}

/** Return a word without the symbols that the model does not know. */
function known(word, vocabulary) {
  const kept = (symbols) => [...symbols].filter((symbol) => vocabulary.has(symbol)).join("");
  return word.with({ phonemes: kept(word.phonemes), space: kept(word.space) });
}

function indivisible(model, words, speed) {
  const phonemes = symbolsOf(words);
  return (
    `A part of the text exceeds the largest bucket of this bundle (${model.most.tokens} tokens, ` +
    `${model.most.frames} frames) at speed ${speed} and cannot be divided, because it has no place to divide it at: ` +
    `'${truncate(phonemes)}' (${length(phonemes)} symbols). Put spaces or punctuation into it, or speak faster.`
  );
}

/**
 * Notices of a text: every unknown symbol once with its word, except marks, which have no sound; and the first word
 * whose rate exceeds the model's range.
 */
class Notices {
  constructor(vocabulary, speed, warn) {
    this._speed = speed;
    this._bounded = false;
    this._known = new Set([...vocabulary.keys(), ...MARKS]);
    this._warn = warn;
  }

  /** @param {Word[]} words */
  warnOf(words) {
    const word = this._bounded ? undefined : words.find(({ rate }) => boundSpeed(this._speed, rate) !== this._speed * rate);
    if (word) {
      this._bounded = true;
      this._warn(
        `Rate times speed is beyond what the model can say, ${SPEEDS[0]} to ${SPEEDS[1]}, and is kept within it ` +
          `from ${quoted(word.text)} on.`,
      );
    }
    /** @type {Map<string, string>} */
    const result = new Map();
    for (const word of words) {
      const unknown = [...word.symbols].filter((symbol) => !this._known.has(symbol) && !isSpace(symbol));
      for (const symbol of unknown) result.set(symbol, word.text);
      for (const symbol of unknown) this._known.add(symbol);
    }
    if (!result.size) return;
    const shown = sorted(result.keys()).map(
      (symbol) => `${quote(symbol)} (${codeOf(symbol)}) in ${quoted(result.get(symbol) ?? "")}`,
    );
    this._warn(`Left out, because the model does not know them: ${shown.join(", ")}.`);
  }
}
