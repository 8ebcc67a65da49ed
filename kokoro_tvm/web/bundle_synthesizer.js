/** Synthesizer with a WebAssembly bundle that a worker computes, in a page and in Node. */

import { revived, revivedPiece } from "./plan.js";
import { RemoteModel } from "./runtime/remote.js";
import { Speech } from "./speech.js";
import { SpeechError } from "./synthesizer.js";
import { bytesOfVoice } from "./voice_files.js";

export const BUNDLE = "bundle/"; // relative to the page
const SAMPLE_RATE = 24000; // of every Kokoro model

/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./planner.js").Options & {signal?: AbortSignal}} Options */
/** @typedef {import("./synthesizer.js").Chunk} Chunk */
/** @typedef {import("./runtime/pieces.js").Progress} Progress */
/** @typedef {import("./runtime/remote.js").Way} Way */
/**
 * Options of opening a bundle. onprogress: called while it is loaded; gpu: folder of a WebGPU bundle, used if
 * possible; onway: called when it is known what computes, and after changes; worker: starts the worker outside of
 * pages.
 * @typedef {{onprogress?: (progress: Progress) => void, gpu?: string | URL, onway?: (way: Way) => void, worker?: () =>
 *   Worker}} Opening
 */

/** Names of loading errors -> kinds of SpeechError. */
const KINDS = { ConnectionError: "unreachable", UnsupportedError: "unsupported", MemoryError: "memory" };

/**
 * Open the bundle in the folder `bundle/` next to the page. Loading begins at once.
 * @param {string} base the page's address
 * @param {Opening} [options]
 * @returns {Promise<BundleSynthesizer>}
 */
export async function open(base, options) {
  return new BundleSynthesizer(new URL(BUNDLE, base), options);
}

/**
 * Text to speech with the bundle in a folder.
 *
 * Calls that need the bundle wait until it is loaded. They are rejected with a `SpeechError`: `unloadable`,
 * `unreachable`, `unsupported` or `memory` if it cannot be loaded (the next call continues loading), `refused` for an
 * invalid text or option, `broken` if computing fails; or with the signal's reason if that aborts.
 */
export class BundleSynthesizer {
  #folder;
  #options;
  #closed = false;
  /** @type {ReturnType<typeof load> | null} */
  #loaded = null;

  /**
   * Load a bundle.
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
    this.languages = ["a", "b", "e", "f", "h", "i", "p"]; // languages of the front end
    this.#folder = folder;
    this.#options = options;
    this.#ready().catch(() => {}); // the caller gets the error
  }

  /** Return the names of all voices. @returns {Promise<string[]>} names of all voices */
  async voices() {
    const { voices } = await this.#ready();
    return voices;
  }

  /**
   * Return the languages of the voices by the first letter of their names, or null for Kokoro's.
   * @returns {Promise<Record<string, {name: string, tag?: string}> | null>}
   */
  async spokenLanguages() {
    const { languages } = (await this.#ready()).remote.manifest;
    if (!languages) return null;
    const named = ([code, { name, espeak }]) => [code, { name, ...(espeak ? { tag: espeak } : {}) }];
    return Object.fromEntries(Object.entries(languages).map(named));
  }

  /**
   * Add the voices of a file (.pt, .npy, .bin, .safetensors). The file is not sent anywhere.
   * @param {File} file
   * @returns {Promise<string[]>} their names; rejected with a SpeechError, `refused`, where it is no voice
   */
  async addVoices(file) {
    const { remote, voices } = await this.#ready();
    try {
      const names = await remote.addVoices(file.name, await bytesOfVoice(file));
      voices.push(...names);
      return names;
    } catch (error) {
      throw reason(error, undefined);
    }
  }

  /** Return the name of the bundle. @returns {Promise<string>} */
  async bundle() {
    const { remote } = await this.#ready();
    return remote.manifest.recipe;
  }

  /** Return the number of threads that compute. @returns {Promise<number>} how many threads compute */
  async threads() {
    const { remote } = await this.#ready();
    return remote.threads;
  }

  /**
   * Plan a text: everything about a speech that is known before the decoder runs. `render` speaks the plan.
   * @param {string | Iterable<string>} text
   * @param {Options} [options]
   * @returns {Promise<Plan>}
   */
  plan(text, options = {}) {
    return this.#plan("plan", text, options);
  }

  /**
   * Plan phonemes, or several strings of phonemes as separate utterances.
   * @param {string | string[]} phonemes
   * @param {Options} [options]
   * @returns {Promise<Plan>}
   */
  planPhonemes(phonemes, options = {}) {
    return this.#plan("planPhonemes", phonemes, options);
  }

  /**
   * Speak piece by piece: the words of a piece, then its audio. No component is started after `signal` aborts or the
   * caller stops reading.
   * @param {string | Iterable<string>} text which may come in portions
   * @param {Options} [options]
   * @returns {AsyncGenerator<Chunk>}
   */
  stream(text, options = {}) {
    return chunks(this.#spoken("stream", text, options));
  }

  /**
   * Speak a text as a whole, with what `plan` plans.
   * @param {string | Iterable<string>} text
   * @param {Options} [options]
   * @returns {Promise<Speech>}
   */
  speak(text, options = {}) {
    return joined(this.#spoken("speak", text, options));
  }

  /**
   * Speak a plan.
   * @param {Plan} plan
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<Speech>}
   */
  render(plan, { signal } = {}) {
    return joined(this.#spoken("render", plan, { signal }));
  }

  /**
   * Speak a plan in chunks.
   * @param {Plan} plan
   * @param {{signal?: AbortSignal}} [options]
   * @returns {AsyncGenerator<Chunk>}
   */
  renderStream(plan, { signal } = {}) {
    return chunks(this.#spoken("render", plan, { signal }));
  }

  /** End the worker and free its memory. Pending calls are rejected. */
  close() {
    this.#closed = true;
    this.#loaded?.then(({ remote }) => remote.close(), () => {}); // a bundle that failed to load is closed already
  }

  /** @param {"plan" | "planPhonemes"} method @param {string | Iterable<string>} text @param {Options} options
   * @returns {Promise<Plan>} */
  async #plan(method, text, options) {
    const { remote } = await this.#ready();
    try {
      return revived(await remote.plan(method, sendable(text), options));
    } catch (error) {
      throw reason(error, options.signal);
    }
  }

  /**
   * Yield the plan, then the parts of `Speaking`.
   * @param {"stream" | "speak" | "render"} method
   * @param {string | Iterable<string> | Plan} what
   * @param {Options} options
   * @returns {AsyncGenerator<any>}
   */
  async *#spoken(method, what, options) {
    const { remote } = await this.#ready();
    try {
      yield* remote.stream(method, method === "render" ? what : sendable(what), options);
    } catch (error) {
      throw reason(error, options.signal);
    }
  }

  async #ready() {
    if (this.#closed) throw new SpeechError("unloadable", "The synthesizer was closed. Open another one.");
    this.#loaded ??= load(this.#folder, this.#options);
    try {
      return await this.#loaded;
    } catch (error) {
      this.#loaded = null; // so that the next call loads it again
      throw new SpeechError(KINDS[error.name] ?? "unloadable", error.message, { cause: error });
    }
  }
}

/**
 * Load a bundle into a worker, and read the names of its voices.
 * @param {URL} folder
 * @param {Opening} options
 */
async function load(folder, options) {
  const remote = await RemoteModel.open(folder, options);
  try {
    const voices = await remote.prepare();
    globalThis.navigator?.storage?.persist?.(); // else the browser may drop what it keeps and load it again
    return { remote, voices };
  } catch (error) {
    remote.close();
    throw error;
  }
}

/** Return a text as a message can contain it: a string, or its portions. @param {any} text */
const sendable = (text) => (typeof text === "string" ? text : [...text]);

/**
 * Return the error to throw for an error.
 * @param {any} error
 * @param {AbortSignal | undefined} signal
 */
function reason(error, signal) {
  if (signal?.aborted) return signal.reason;
  return new SpeechError(error.name === "InputError" ? "refused" : "broken", error.message, { cause: error });
}

/** @param {AsyncIterable<any>} spoken @returns {AsyncGenerator<Chunk>} */
async function* chunks(spoken) {
  for await (const { audio, words } of spoken) {
    if (audio) yield { audio, words: [] };
    else if (words) yield { audio: new Float32Array(0), words };
  }
}

/** @param {AsyncIterable<any>} spoken @returns {Promise<Speech>} */
async function joined(spoken) {
  let plan = null;
  const pieces = [];
  const parts = [];
  for await (const part of spoken) {
    if (part.audio) parts.push(part.audio);
    else if (part.piece) pieces.push(revivedPiece(part.piece));
    else plan = part;
  }
  const audio = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let start = 0;
  for (const part of parts) {
    audio.set(part, start);
    start += part.length;
  }
  return new Speech(revived(plan).with({ pieces }), audio);
}
