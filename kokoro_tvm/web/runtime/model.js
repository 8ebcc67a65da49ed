/** The five components as two functions: predict durations, and decode audio. */

import { BundleError } from '../errors.js';

/** Model of a bundle. */
export class Model {
  #room = new Float32Array(0);

  /** @param {import('./bundle.js').Bundle} bundle */
  constructor(bundle) {
    this.bundle = bundle;
    const { vocabulary, sample_rate: rate, samples_per_frame: samples, style_dim: half } = bundle.manifest;
    this.vocabulary = vocabulary;
    this.sampleRate = rate;
    this.samplesPerFrame = samples;
    this.most = { tokens: bundle.largest('tokens'), frames: bundle.largest('frames') };
    this.half = half;
  }

  /**
   * Predict the duration of every token in frames at speed 1, and features for `decode`.
   * @param {number[]} tokens with the 0 at both ends
   * @param {Float32Array} style a row of a voice
   * @returns {Promise<{durations: Float32Array, features: import('./bundle.js').Values}>}
   */
  async predict(tokens, style) {
    const length = tokens.length;
    const [bert] = this.bundle.run('bert', length, ids(tokens));
    const [durations, features] = this.bundle.run('duration', length, bert, this.#prosody(style));
    return { durations: durations.values, features };
  }

  /**
   * Compute the audio of tokens with durations.
   * @param {number[]} tokens with the 0 at both ends
   * @param {Float32Array} style a row of a voice
   * @param {number[]} durations whole frames, 1 or more
   * @param {import('./bundle.js').Values} features of `predict`
   * @param {Uint32Array} seed its lower and upper half, and the number of the piece
   * @param {Float32Array | null} [pitch] a factor on f0 for every half frame
   * @param {[number, number] | null} [window] first frame to compute the audio of, and the one after the last; null: all
   * @returns {Promise<Float32Array>}
   */
  async decode(tokens, style, durations, features, seed, pitch = null, window = null) {
    const frames = durations.reduce((sum, item) => sum + item, 0);
    const [first, last] = window ?? [0, frames];
    const [text] = this.bundle.run('text_encoder', tokens.length, ids(tokens));
    const [f0, noisiness] = this.bundle.run('f0n', frames, this.#spread(features, durations, frames), this.#prosody(style));
    const spoken = pitch ? { ...f0, values: times(await this.bundle.read(f0), pitch), tensor: undefined } : f0;
    const curves = [spoken, noisiness];
    if (last - first < frames) {
      for (const place of [0, 1]) curves[place] = cropped(await this.bundle.read(curves[place]), 2 * first, 2 * last);
    }
    const timbre = { values: style.slice(0, this.half), shape: [1, this.half] };
    const words = { values: seed, shape: [seed.length] };
    const inputs = [this.#spread(text, durations, frames, first, last), ...curves, timbre, words];
    const [audio] = this.bundle.run('decoder_seeded', last - first, ...inputs);
    const values = await this.bundle.read(audio);
    this.bundle.release(f0, noisiness, audio);
    if (!values.every(Number.isFinite)) {
      throw new BundleError('The decoder gave audio that is not finite. Load the bundle again.');
    }
    return values;
  }

  /**
   * Repeat features (1, C, tokens) over frames from `first` to before `last`: (1, C, frames). The next call overwrites
   * them.
   */
  #spread({ values, shape: [, channels, tokens] }, durations, frames, first = 0, last = frames) {
    const size = channels * (last - first);
    if (this.#room.length < size) this.#room = new Float32Array(size); // reused: garbage of megabytes is collected late
    for (let channel = 0; channel < channels; ++channel) {
      const offset = channel * (last - first) - first; // of frame 0
      for (let token = 0, frame = 0; token < tokens; ++token) {
        const [begin, end] = [Math.max(frame, first), Math.min((frame += durations[token]), last)];
        if (begin < end) this.#room.fill(values[channel * tokens + token], offset + begin, offset + end);
      }
    }
    return { values: this.#room.subarray(0, size), shape: [1, channels, last - first] };
  }

  #prosody(style) {
    return { values: style.slice(this.half), shape: [1, this.half] };
  }
}

/** @param {Float32Array} values @param {Float32Array} factors */
const times = (values, factors) => values.map((value, place) => value * factors[place]);

/** Return the values of a curve (1, n) from `first` to before `last`. @param {Float32Array} values */
const cropped = (values, first, last) => ({ values: values.slice(first, last), shape: [1, last - first] });

const ids = (tokens) => ({ values: BigInt64Array.from(tokens, BigInt), shape: [1, tokens.length] });
