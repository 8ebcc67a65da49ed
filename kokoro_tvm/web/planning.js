/** From sentences to pieces, one after the other, each as soon as it is known what follows. */

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
 * What predicts durations.
 *
 * vocabulary, sampleRate: the bundle's; most: of tokens, the marks at both ends included, and of frames that an utterance
 * may have; predict: tokens and style to the duration of every token in frames at speed 1, and to features that the
 * decoder takes.
 *
 * @typedef {{vocabulary: Vocabulary, sampleRate: number, most: {tokens: number, frames: number},
 *   predict: (tokens: number[], style: Float32Array) => Promise<{durations: Float32Array, features: unknown}>}} Model
 */

/** A piece with known durations, and the features it was predicted from (null of silence).
 *
 * @typedef {{piece: Piece, features: unknown}} Planned */

/**
 * How to speak: the table of each voice, null being that of the request, the speed, and what is between pieces.
 *
 * @typedef {{table: (voice: string | null) => Table, speed: number, pauses: import("./joins.js").Pauses,
 *   division: import("./division.js").Division}} Style
 */

/** Pieces with durations, each as soon as its words are there and it is known whether others follow.
 *
 * Throws an InputError for a part that exceeds what the model takes and has no place to divide it at, and where the model
 * knows none of the phonemes.
 * @param {Model} model @param {Iterable<Breath>} sentences @param {Style} style @param {import("./notices.js").Warn} warn
 * @returns {AsyncIterable<Planned>} */
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

/** What `pauseAfter` says of the silence after a part; at the end of the text everything is kept.
 * @returns {[number | null, number, number]} */
function silence(part, style, sampleRate) {
  if (part.pause !== null) {
    const [release, pause, attack] = pauseAfter(part.pause, sampleRate);
    return part.boundary === "end" ? [release, pause + attack, 0] : [release, pause, attack];
  }
  if (part.boundary === "end") return [null, 0, 0];
  const { rate } = part.words[part.words.length - 1];
  return pauseAfter(pauseBetween(style.pauses, part.words, part.boundary) / boundSpeed(style.speed, rate), sampleRate);
}

/** Parts whose tokens and predicted frames the model takes, numbered from `number`.
 * @returns {AsyncIterable<[Breath, Planned]>} */
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

/** A part with its durations; null where it is too long. @returns {Promise<Planned | null>} */
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

/** Whole frames per token: max(1, duration / speed), halves to even, but with ends that do not grow.
 *
 * The marks at both ends are silent where they last as long as in training; stretched by a speed below 1 they turn into a
 * vowel. The division is that of float32.
 * @param {Float32Array} durations in frames at speed 1 @param {number[]} speeds of every token */
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

/** The word without the symbols that the model does not know; they are passed over. */
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

/** Names every symbol that the model does not know once in a text, and the word it is in; but for marks, which have no
 * sound. Names the first word whose rate is beyond what the model can say. */
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
    const found = new Map();
    for (const word of words) {
      const unknown = [...word.symbols].filter((symbol) => !this._known.has(symbol) && !isSpace(symbol));
      for (const symbol of unknown) found.set(symbol, word.text);
      for (const symbol of unknown) this._known.add(symbol);
    }
    if (!found.size) return;
    const shown = sorted(found.keys()).map(
      (symbol) => `${quote(symbol)} (${codeOf(symbol)}) in ${quoted(found.get(symbol) ?? "")}`,
    );
    this._warn(`Left out, because the model does not know them: ${shown.join(", ")}.`);
  }
}
