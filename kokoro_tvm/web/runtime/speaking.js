/** A worker's tasks for a synthesizer: read, plan and speak, so that the page's thread stays free. */

import { completed } from '../completing.js';
import { BundleError } from '../errors.js';
import { FrontEnd } from '../front_end.js';
import { revived } from '../plan.js';
import { Planner, UNCUT } from '../planner.js';
import { render } from '../rendering.js';
import { readVoices } from '../voice_files.js';
import { languagesOf, Voices } from '../voices.js';
import { shown, wordsOfPiece } from '../words.js';

/** @typedef {import('../plan.js').Plan} Plan */
/** @typedef {import('../planner.js').Options} Options */

/**
 * Context of a request. signal: aborts when the caller stops waiting; warn: takes notices.
 * @typedef {{signal: AbortSignal, warn: import('../notices.js').Warn}} Context
 */

/**
 * Item of a stream: a piece with its words (seconds from the start of the speech), then its audio.
 * @typedef {{piece: import('../plan.js').Piece, words: import('../synthesizer.js').Word[]} | {audio: Float32Array}}
 *   Spoken
 */

/** A bundle's model with its voices and its front end. */
export class Speaking {
  #model;
  #voices;
  #frontEnd;
  #languages;

  /** @param {import('./model.js').Model} model @returns {Promise<Speaking>} rejected with a BundleError */
  static async open(model) {
    const { bundle } = model;
    const { voices, text, front_end: frontEnd, style_dim: half } = bundle.manifest;
    const tables = await Voices.open((begin, end) => bundle.range(voices, begin, end), 2 * half);
    await tables.table(tables.default); // so that it is there, online or not, once the page can speak
    const languages = languagesOf(bundle.manifest.languages);
    if (!text) throw new BundleError('The bundle has no text.wasm, which plans its text. Build the bundle again.');
    const [code, data] = [await bundle.file(text), frontEnd ? await bundle.file(frontEnd) : null];
    return new Speaking(model, tables, await FrontEnd.open(code, data), languages);
  }

  constructor(model, voices, frontEnd, languages) {
    this.#languages = languages;
    this.#model = model;
    this.#voices = voices;
    this.#frontEnd = frontEnd;
  }

  get voices() {
    return this.#voices.names;
  }

  /**
   * Add the voices of a file.
   * @param {string} file its name
   * @param {Uint8Array<ArrayBuffer>} data
   * @returns {Promise<string[]>} their names; rejected with an InputError
   */
  async addVoices(file, data) {
    const own = await readVoices(file, data, 2 * this.#model.bundle.manifest.style_dim);
    this.#voices = await this.#voices.joined(own);
    return [...own.keys()];
  }

  /** @param {Context} context @param {string | string[]} text @param {Options} options @returns {Promise<Plan>} */
  plan({ signal, warn }, text, options) {
    return this.#planner(signal).plan(text, { ...options, warn });
  }

  /** @param {Context} context @param {string | string[]} phonemes @param {Options} options @returns {Promise<Plan>} */
  planPhonemes({ signal, warn }, phonemes, options) {
    return this.#planner(signal).planPhonemes(phonemes, { ...options, warn });
  }

  /** Speak a text whose first sound nobody waits for, as `stream` does. */
  speak(context, text, options) {
    return this.stream(context, text, { ...options, division: options.division ?? UNCUT });
  }

  /**
   * Speak a text: return its plan without pieces, and the stream.
   * @param {Context} context
   * @param {string | string[]} text
   * @param {Options} options
   * @returns {[Plan, AsyncGenerator<Spoken>]}
   */
  stream({ signal, warn }, text, options) {
    const planner = this.#planner(signal);
    const plan = planner.empty(options);
    return [plan, this.#spoken(signal, plan, planner.pieces(text, { ...options, warn }))];
  }

  /**
   * Speak a plan.
   * @param {Context} context
   * @param {any} cloned a plan, as a message has it
   * @returns {[Plan, AsyncGenerator<Spoken>]}
   */
  render({ signal }, cloned) {
    const plan = revived(cloned);
    return [plan, this.#spoken(signal, plan, completed(this.#interruptible(signal), this.#voices, plan))];
  }

  async *#spoken(signal, plan, planned) {
    const model = this.#interruptible(signal);
    let start = 0; // of the piece, in samples
    for await (const { piece, features } of planned) {
      yield { piece, words: shown([...wordsOfPiece(plan, piece, 0, start)]) };
      const table = await this.#voices.table(piece.voice ?? plan.voice);
      const audio = await render(model, table, plan, piece, features);
      start += audio.length;
      yield { audio };
    }
  }

  #planner(signal) {
    return new Planner(this.#interruptible(signal), this.#voices, this.#frontEnd, this.#languages);
  }

  /** Return the model that starts no component after the signal aborted. */
  #interruptible(signal) {
    const model = this.#model;
    const { sampleRate, samplesPerFrame, most } = model;
    const unlessAborted = (call) => async (...values) => {
      await new Promise((done) => setTimeout(done)); // receive messages, such as an abort
      signal.throwIfAborted();
      return call(...values);
    };
    return {
      vocabulary: new Map(Object.entries(model.vocabulary)), sampleRate, samplesPerFrame, most,
      predict: unlessAborted(model.predict.bind(model)),
      decode: unlessAborted(model.decode.bind(model)),
    };
  }
}
