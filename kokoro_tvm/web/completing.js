/** Completion of a plan, new or edited, with missing durations: `complete` and `render` of Python. */

import { InputError } from "./errors.js";
import { length, rint } from "./characters.js";
import { SPEEDS } from "./numbers.js";
import { encode, sorted } from "./phonemes.js";
import { styleOf } from "./voices.js";

/** @typedef {import("./plan.js").Piece} Piece */
/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./planner.js").Planned} Planned */
/** @typedef {import("./planner.js").Model & {samplesPerFrame: number}} Model */

/**
 * Yield the pieces with all durations and the features for the decoder.
 *
 * Throws an InputError before the first one if the plan has other rates, voices or phonemes than the bundle, or if a
 * piece exceeds the largest bucket.
 * @param {Model} model
 * @param {import("./voices.js").Voices} voices
 * @param {Plan} plan
 * @returns {AsyncGenerator<Planned>}
 */
export async function* completed(model, voices, plan) {
  checkRates(model, plan);
  if (!plan.pieces.length) throw new InputError("There is nothing to speak: the plan has no pieces.");
  const table = (/** @type {Piece} */ piece) => voices.table(piece.voice ?? plan.voice);
  /** @type {Planned[]} */
  const planned = [];
  for (const [number, piece] of plan.pieces.entries()) {
    const rows = await table(piece);
    checkPiece(model, rows, piece, number);
    planned.push(piece.complete ? { piece, features: null } : await predicted(model, rows, piece, plan.speed));
    checkFrames(model, planned[number].piece, number);
  }
  for (const { piece, features } of planned) {
    if (features || !piece.words.length) yield { piece, features };
    else yield { piece, features: (await predict(model, await table(piece), piece)).features };
  }
}

/** Predict the missing durations of a piece; existing ones stay. @returns {Promise<Planned>} */
async function predicted(model, table, piece, speed) {
  const { durations, features } = await predict(model, table, piece);
  const rates = piece.utterance.words.flatMap((word) => Array(length(word.symbols)).fill(word.rate));
  const frames = spokenDurations(durations, [1, ...rates, 1].map((rate) => boundSpeed(speed, rate)));
  let place = 1;
  const fill = (words) =>
    words.map((word) => {
      const first = place;
      place += length(word.symbols);
      return word.durations === null ? word.with({ durations: frames.slice(first, place) }) : word;
    });
  const [before, words, after] = [fill(piece.before), fill(piece.words), fill(piece.after)];
  return { piece: piece.with({ before, words, after }), features };
}

/**
 * Return the speed of a word at its rate. A rate exceeds SPEEDS no further than `speed` does.
 * @param {number} speed
 * @param {number} rate
 */
export function boundSpeed(speed, rate) {
  const [low, high] = SPEEDS;
  return Math.min(Math.max(speed * rate, Math.min(speed, low)), Math.max(speed, high));
}

/** Return whole frames per token: max(1, duration / speed) in float32, halves to even. */
function spokenDurations(durations, speeds) {
  return Array.from(durations, (duration, place) => {
    if (!Number.isFinite(duration)) throw new Error("The duration component gave a value that is not finite.");
    return Math.max(1, rint(Math.fround(duration / Math.max(Math.fround(speeds[place]), 2 ** -126))));
  });
}

const predict = (model, table, piece) =>
  model.predict(encode(piece.utterance.symbols, model.vocabulary), styleOf(table, piece.style));

function checkRates({ sampleRate, samplesPerFrame }, plan) {
  if (plan.sampleRate === sampleRate && plan.samplesPerFrame === samplesPerFrame) return;
  throw new InputError(
    `The plan is for ${plan.sampleRate} Hz and ${plan.samplesPerFrame} samples per frame, the bundle for ` +
      `${sampleRate} and ${samplesPerFrame}. Plan the text with this bundle.`,
  );
}

function checkPiece({ vocabulary, most }, table, piece, number) {
  const { symbols } = piece.utterance;
  const unknown = sorted(new Set([...symbols].filter((symbol) => !vocabulary.has(symbol))));
  if (unknown.length) {
    throw new InputError(
      `The plan has phonemes that the model does not know: ${unknown.join(" ")}. Remove them, with their durations.`,
    );
  }
  if (piece.style >= table.rows) {
    throw new InputError(`A piece of the plan has style ${piece.style}, but the voice has ${table.rows} rows.`);
  }
  const tokens = length(symbols) + 2;
  if (tokens > most.tokens) throw new InputError(tooLong(number, tokens, "tokens", most.tokens));
}

function checkFrames({ most }, piece, number) {
  const { frames } = piece.utterance;
  if (frames > most.frames) throw new InputError(tooLong(number, frames, "frames", most.frames));
}

const tooLong = (number, count, axis, most) =>
  `Piece ${number} of the plan has ${count} ${axis}; the largest bucket of this bundle has ${most}. Divide it.`;
