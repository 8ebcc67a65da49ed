/** What a worker does for a synthesizer: reads, plans and speaks, so that the page's thread is free meanwhile. */

import { completed } from '../completing.js';
import { FrontEndFile } from '../frontend/data.js';
import { FrontEnd } from '../frontend/front_end.js';
import { revived } from '../plan.js';
import { Planner } from '../planner.js';
import { render } from '../rendering.js';
import { readVoices } from '../voice_files.js';
import { languagesOf, Voices } from '../voices.js';
import { shown, wordsOfPiece } from '../words.js';

/** @typedef {import('../plan.js').Plan} Plan */
/** @typedef {import('../planner.js').Options} Options */

/**
 * What a request comes with: signal: aborts when nobody waits for it any more; warn: takes notices.
 * @typedef {{signal: AbortSignal, warn: (message: string) => void}} Context
 */

/**
 * What a stream gives: a piece with its words, seconds from the start of the speech, and then its audio.
 * @typedef {{piece: import('../plan.js').Piece, words: import('../synthesizer.js').Word[]} | {audio: Float32Array}} Spoken
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
    const { voices, front_end: frontEnd, style_dim: half } = bundle.manifest;
    const tables = await Voices.open((begin, end) => bundle.range(voices, begin, end), 2 * half);
    await tables.table(tables.default); // which is there, with a connection or not, once the page can speak
    const languages = languagesOf(bundle.manifest.languages);
    const data = frontEnd ? await FrontEndFile.open(await bundle.file(frontEnd)) : null;
    return new Speaking(model, tables, new FrontEnd(data, undefined, languages), languages);
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

  /** Takes the voices of a file beside those that there are. @param {string} file its name
   * @param {Uint8Array<ArrayBuffer>} data @returns {Promise<string[]>} their names; rejected with an InputError */
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

  /** Speaks a text: its plan without pieces, and what is spoken. @param {Context} context
   * @param {string | string[]} text @param {Options} options @returns {[Plan, AsyncGenerator<Spoken>]} */
  stream({ signal, warn }, text, options) {
    const planner = this.#planner(signal);
    const plan = planner.empty(options);
    return [plan, this.#spoken(signal, plan, planner.pieces(text, { ...options, warn }))];
  }

  /** Speaks a plan. @param {Context} context @param {any} cloned a plan, as a message has it
   * @returns {[Plan, AsyncGenerator<Spoken>]} */
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

  /** The model, of which no component is begun once the signal has aborted. */
  #interruptible(signal) {
    const model = this.#model;
    const { sampleRate, samplesPerFrame, most } = model;
    const unlessAborted = (call) => async (...values) => {
      await new Promise((done) => setTimeout(done)); // lets messages in, that which aborts among them
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
