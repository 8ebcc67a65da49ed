/** From a piece to its audio of exactly the planned length: `kokoro_tvm/runtime/speech/rendering.py`. */

import { fadeIn, fadeOut, mute, muted } from "./joins.js";
import { encode } from "./phonemes.js";
import { styleOf } from "./voices.js";

/** @typedef {import("./plan.js").Piece} Piece */
/** @typedef {import("./plan.js").Plan} Plan */

/**
 * A model that decodes tokens with durations, see `Model.decode` of runtime/session/model.js.
 * @typedef {{vocabulary: import("./phonemes.js").Vocabulary, decode: (tokens: number[], style: Float32Array,
 *   durations: number[], features: unknown, seed: Uint32Array, pitch: Float32Array | null, window: [number, number]) =>
 *   Promise<Float32Array>}}
 *   Decoder
 */

/**
 * Return the samples of a piece with its pause. features: from the prediction of its durations.
 * @param {Decoder} model
 * @param {import("./voices.js").Table} table of the piece's voice
 * @param {Plan} plan whose rates, seed and `mute` the piece has
 * @param {Piece} piece
 * @param {unknown} features
 * @returns {Promise<Float32Array>}
 */
export async function render(model, table, plan, piece, features) {
  if (!piece.words.length) return new Float32Array(piece.pause);
  const { sampleRate, samplesPerFrame } = plan;
  const whole = piece.utterance;
  const tokens = encode(whole.symbols, model.vocabulary);
  const style = styleOf(table, piece.style);
  const seed = seedWords(plan.seed, piece.noise);
  const window = piece.window();
  const part = await model.decode(tokens, style, whole.durations, features, seed, pitchOf(piece), window);
  let decoded = part;
  if (part.length < whole.frames * samplesPerFrame) {
    decoded = new Float32Array(whole.frames * samplesPerFrame); // the rest of the utterance is not heard
    decoded.set(part, window[0] * samplesPerFrame);
  }
  if (plan.mute) mute(decoded, muted(piece, samplesPerFrame, sampleRate), sampleRate);
  const [before, after] = piece.cut(samplesPerFrame);
  const kept = decoded.subarray(before, decoded.length - after);
  if (before) fadeIn(kept, sampleRate);
  if (after) fadeOut(kept, sampleRate);
  const audio = new Float32Array(kept.length + piece.pause);
  audio.set(kept);
  return audio;
}

/**
 * Return the decoder's seed of noise: lower and upper half, and the number of the piece.
 * @param {bigint} seed
 * @param {number} noise
 */
const seedWords = (seed, noise) => Uint32Array.of(Number(seed & 0xffffffffn), Number(seed >> 32n), noise);

/** Return the pitch factors of every half frame of the utterance, or null if all are 1. @param {Piece} piece */
function pitchOf(piece) {
  const whole = piece.utterance;
  if (piece.pitch.every((factor) => factor === 1) && whole.words.every((word) => word.pitch === 1)) return null;
  const halves = 2 * piece.frames;
  const last = piece.pitch.length - 1;
  const first = piece.before.length ? 2 * piece.before.reduce((sum, word) => sum + word.frames, piece.lead) : 0;
  const curve = Float64Array.from({ length: 2 * whole.frames }, (_, half) => {
    const own = Math.min(Math.max(half - first, 0), halves - 1);
    const place = (own / Math.max(halves - 1, 1)) * last;
    const left = Math.min(Math.floor(place), Math.max(last - 1, 0));
    const right = Math.min(left + 1, last);
    return piece.pitch[left] + (piece.pitch[right] - piece.pitch[left]) * (place - left);
  });
  let place = 2 * piece.lead;
  for (const word of whole.words) {
    const end = place + 2 * word.frames;
    for (; place < end; place++) curve[place] *= word.pitch;
  }
  return Float32Array.from(curve);
}
