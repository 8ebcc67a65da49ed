/** A synthesizer that is a bundle for WebAssembly, computed by a worker: in a page, and in Node. */

import { completed } from "./completing.js";
import { InputError } from "./errors.js";
import { FrontEndFile } from "./frontend/data.js";
import { FrontEnd } from "./frontend/front_end.js";
import { Planner } from "./planner.js";
import { render } from "./rendering.js";
import { RemoteModel } from "./runtime/remote.js";
import { Speech } from "./speech.js";
import { SpeechError } from "./synthesizer.js";
import { Voices } from "./voices.js";
import { shown, wordsOfPiece } from "./words.js";

const BUNDLE = "bundle/"; // beside the page
const SAMPLE_RATE = 24000; // of every Kokoro model

/** @typedef {import("./plan.js").Piece} Piece */
/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./planner.js").Options & {signal?: AbortSignal}} Options */
/** @typedef {import("./planning.js").Planned} Planned */
/** @typedef {import("./synthesizer.js").Chunk} Chunk */
/** @typedef {import("./runtime/pieces.js").Progress} Progress */
/** onprogress: called as a bundle is loaded; worker: what starts the worker, where it is not a page's.
 * @typedef {{onprogress?: (progress: Progress) => void, worker?: () => Worker}} Opening */

/** A piece whose words are known, and then once more with its audio.
 * @typedef {{plan: Plan, piece: Piece, audio: Float32Array | null}} Spoken */

/** Names of errors while it is loaded -> kinds of what the page is told. */
const KINDS = { ConnectionError: "unreachable", UnsupportedError: "unsupported", MemoryError: "memory" };

/**
 * A bundle in the folder `bundle/` beside the page; loading it begins at once.
 *
 * @param {string} base the page's address
 * @param {Opening} [options]
 * @returns {Promise<BundleSynthesizer>}
 */
export async function open(base, options) {
  return new BundleSynthesizer(new URL(BUNDLE, base), options);
}

/**
 * Text to speech with the bundle in a folder. Every call that needs it waits until it is loaded, and is rejected with a
 * `SpeechError`: `unloadable`, `unreachable`, `unsupported` or `memory` where it cannot be loaded (the next call loads what
 * is not there yet), `refused` for a text or an option that cannot be spoken, `broken` where computing fails; and with the
 * signal's reason where that aborts.
 */
export class BundleSynthesizer {
  #folder;
  #options;
  #closed = false;
  /** @type {ReturnType<typeof load> | null} */
  #loaded = null;

  /**
   * Loads a bundle.
   *
   * @param {string | URL} folder its address; a relative one is below the page's
   * @param {Opening} [options]
   * @returns {Promise<BundleSynthesizer>} rejected with a SpeechError as it cannot be loaded
   */
  static async open(folder, options) {
    const base = globalThis.document?.baseURI ?? globalThis.location?.href;
    const synthesizer = new this(new URL(`${String(folder).replace(/\/$/, "")}/`, base), options);
    await synthesizer.#ready();
    return synthesizer;
  }

  /**
   * @param {URL} folder an address that ends in a slash
   * @param {Opening} [options]
   */
  constructor(folder, options = {}) {
    this.sampleRate = SAMPLE_RATE;
    this.#folder = folder;
    this.#options = options;
    this.#ready().catch(() => {}); // whoever asks for something is told
  }

  /** @returns {Promise<string[]>} names of all voices */
  async voices() {
    const { voices } = await this.#ready();
    return voices.names;
  }

  /**
   * Everything about a speech that is known before the decoder runs; `render` speaks it.
   *
   * @param {string | Iterable<string>} text @param {Options} [options] @returns {Promise<Plan>}
   */
  plan(text, options = {}) {
    return this.#planned(options.signal, (planner) => planner.plan(text, options));
  }

  /**
   * The plan of phonemes, or of several strings of them as utterances of their own.
   *
   * @param {string | string[]} phonemes @param {Options} [options] @returns {Promise<Plan>}
   */
  planPhonemes(phonemes, options = {}) {
    return this.#planned(options.signal, (planner) => planner.planPhonemes(phonemes, options));
  }

  /**
   * Speaks piece by piece: the words of a piece, then its audio. No component is begun after `signal` aborts, or after
   * nobody reads on.
   *
   * @param {string | Iterable<string>} text which may come in portions @param {Options} [options]
   * @returns {AsyncGenerator<Chunk>}
   */
  stream(text, options = {}) {
    return chunks(this.#spoken(options.signal, (planner) => [planner.empty(options), planner.pieces(text, options)]));
  }

  /** The chunks of `stream`, joined. @param {string | Iterable<string>} text @param {Options} [options]
   * @returns {Promise<Speech>} */
  speak(text, options = {}) {
    return joined(this.#spoken(options.signal, (planner) => [planner.empty(options), planner.pieces(text, options)]));
  }

  /** Speaks a plan. @param {Plan} plan @param {{signal?: AbortSignal}} [options] @returns {Promise<Speech>} */
  render(plan, { signal } = {}) {
    return joined(this.#spoken(signal, (_, model, voices) => [plan, completed(model, voices, plan)]));
  }

  /** The chunks of what `render` speaks. @param {Plan} plan @param {{signal?: AbortSignal}} [options]
   * @returns {AsyncGenerator<Chunk>} */
  renderStream(plan, { signal } = {}) {
    return chunks(this.#spoken(signal, (_, model, voices) => [plan, completed(model, voices, plan)]));
  }

  /** Ends the worker, whatever it computes, and frees its memory; what waits for it is rejected. */
  close() {
    this.#closed = true;
    this.#loaded?.then(({ remote }) => remote.close(), () => {}); // what could not be loaded is closed
  }

  /**
   * @param {AbortSignal | undefined} signal
   * @param {(planner: Planner) => Promise<Plan>} make
   */
  async #planned(signal, make) {
    const { model, voices, frontEnd } = await this.#ready();
    try {
      return await make(new Planner(interruptible(model, signal), voices, frontEnd));
    } catch (error) {
      throw reason(error, signal);
    }
  }

  /**
   * @param {AbortSignal | undefined} signal
   * @param {(planner: Planner, model: Model, voices: Voices) => [Plan, AsyncIterable<Planned>]} begin gives what is
   *     spoken, and with which rates, voice, seed and `mute`
   * @returns {AsyncGenerator<Spoken>}
   */
  async *#spoken(signal, begin) {
    const { model: uninterrupted, voices, frontEnd } = await this.#ready();
    try {
      const model = interruptible(uninterrupted, signal);
      const [plan, planned] = begin(new Planner(model, voices, frontEnd), model, voices);
      for await (const { piece, features } of planned) {
        yield { plan, piece, audio: null };
        yield { plan, piece, audio: await render(model, voices.table(piece.voice ?? plan.voice), plan, piece, features) };
      }
    } catch (error) {
      throw reason(error, signal);
    }
  }

  async #ready() {
    if (this.#closed) throw new SpeechError("unloadable", "The synthesizer was closed. Open another one.");
    this.#loaded ??= load(this.#folder, this.#options);
    try {
      return await this.#loaded;
    } catch (error) {
      this.#loaded = null; // so that it can be asked for again
      throw new SpeechError(KINDS[error.name] ?? "unloadable", error.message, { cause: error });
    }
  }
}

/** @typedef {Awaited<ReturnType<typeof load>>["model"]} Model */

/** Model, voices and front end of a bundle. @param {URL} folder @param {Opening} options */
async function load(folder, options) {
  const remote = await RemoteModel.open(folder, options);
  const { manifest, sampleRate, samplesPerFrame, most } = remote;
  const [tables, read] = await Promise.all([manifest.voices, manifest.front_end].map((entry) => remote.file(entry)));
  const model = {
    vocabulary: new Map(Object.entries(remote.vocabulary)), sampleRate, samplesPerFrame, most,
    predict: remote.predict.bind(remote),
    decode: remote.decode.bind(remote),
  };
  globalThis.navigator?.storage?.persist?.(); // or the browser may give up what it keeps, and load it again
  const voices = Voices.open(tables, 2 * manifest.style_dim);
  return { remote, model, voices, frontEnd: new FrontEnd(await FrontEndFile.open(read)) };
}

/** The model, whose calls are rejected as soon as the signal aborts: none is begun after that.
 * @param {Model} model @param {AbortSignal | undefined} signal @returns {Model} */
function interruptible(model, signal) {
  if (!signal) return model;
  const unlessAborted = (call) => (...values) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      call(...values).then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
    });
  return { ...model, predict: unlessAborted(model.predict), decode: unlessAborted(model.decode) };
}

/** What to throw in place of an error. @param {any} error @param {AbortSignal | undefined} signal */
function reason(error, signal) {
  if (signal?.aborted) return signal.reason;
  return new SpeechError(error instanceof InputError ? "refused" : "broken", error.message, { cause: error });
}

/** @param {AsyncIterable<Spoken>} spoken @returns {AsyncGenerator<Chunk>} */
async function* chunks(spoken) {
  let start = 0; // of the piece, in samples
  for await (const { plan, piece, audio } of spoken) {
    if (audio) {
      yield { audio, words: [] };
      start += audio.length;
    } else yield { audio: new Float32Array(0), words: shown([...wordsOfPiece(plan, piece, 0, start)]) };
  }
}

/** @param {AsyncIterable<Spoken>} spoken @returns {Promise<Speech>} */
async function joined(spoken) {
  /** @type {{plan: Plan, piece: Piece, audio: Float32Array}[]} */
  const parts = [];
  for await (const { plan, piece, audio } of spoken) if (audio) parts.push({ plan, piece, audio });
  const audio = new Float32Array(parts.reduce((sum, part) => sum + part.audio.length, 0));
  let start = 0;
  for (const part of parts) {
    audio.set(part.audio, start);
    start += part.audio.length;
  }
  return new Speech(parts[0].plan.with({ pieces: parts.map(({ piece }) => piece) }), audio);
}
