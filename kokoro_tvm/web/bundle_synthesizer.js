/** A synthesizer that is a bundle for WebAssembly, computed by a worker: in a page, and in Node. */

import { revived, revivedPiece } from "./plan.js";
import { RemoteModel } from "./runtime/remote.js";
import { Speech } from "./speech.js";
import { SpeechError } from "./synthesizer.js";
import { bytesOfVoice } from "./voice_files.js";

export const BUNDLE = "bundle/"; // beside the page
const SAMPLE_RATE = 24000; // of every Kokoro model

/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./planner.js").Options & {signal?: AbortSignal}} Options */
/** @typedef {import("./synthesizer.js").Chunk} Chunk */
/** @typedef {import("./runtime/pieces.js").Progress} Progress */
/** @typedef {import("./runtime/remote.js").Way} Way */
/** onprogress: called as a bundle is loaded; gpu: the folder of a bundle for WebGPU, which computes where it can; onway:
 * called once it is known whether it does, and where that changes; worker: what starts the worker, where it is not a page's.
 * @typedef {{onprogress?: (progress: Progress) => void, gpu?: string | URL, onway?: (way: Way) => void,
 *   worker?: () => Worker}} Opening */

/** Names of errors while it is loaded -> kinds of what the page is given. */
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
    this.languages = ["a", "b", "e", "f", "h", "i", "p"]; // the front end's
    this.#folder = folder;
    this.#options = options;
    this.#ready().catch(() => {}); // whoever calls gets the error
  }

  /** @returns {Promise<string[]>} names of all voices */
  async voices() {
    const { voices } = await this.#ready();
    return voices;
  }

  /** Languages of the voices by the letters that names begin with; null: Kokoro's.
   * @returns {Promise<Record<string, {name: string, tag?: string}> | null>} */
  async spokenLanguages() {
    const { languages } = (await this.#ready()).remote.manifest;
    if (!languages) return null;
    const named = ([code, { name, espeak }]) => [code, { name, ...(espeak ? { tag: espeak } : {}) }];
    return Object.fromEntries(Object.entries(languages).map(named));
  }

  /** Takes the voices of a file (.pt, .npy, .bin, .safetensors) beside the bundle's; it goes nowhere else.
   * @param {File} file @returns {Promise<string[]>} their names; rejected with a SpeechError, `refused`, where it is no voice */
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

  /** @returns {Promise<number>} how many threads compute */
  async threads() {
    const { remote } = await this.#ready();
    return remote.threads;
  }

  /**
   * Everything about a speech that is known before the decoder runs; `render` speaks it.
   *
   * @param {string | Iterable<string>} text @param {Options} [options] @returns {Promise<Plan>}
   */
  plan(text, options = {}) {
    return this.#plan("plan", text, options);
  }

  /**
   * The plan of phonemes, or of several strings of them as utterances of their own.
   *
   * @param {string | string[]} phonemes @param {Options} [options] @returns {Promise<Plan>}
   */
  planPhonemes(phonemes, options = {}) {
    return this.#plan("planPhonemes", phonemes, options);
  }

  /**
   * Speaks piece by piece: the words of a piece, then its audio. No component is begun after `signal` aborts, or after
   * nobody reads on.
   *
   * @param {string | Iterable<string>} text which may come in portions @param {Options} [options]
   * @returns {AsyncGenerator<Chunk>}
   */
  stream(text, options = {}) {
    return chunks(this.#spoken("stream", text, options));
  }

  /** The chunks of `stream`, joined. @param {string | Iterable<string>} text @param {Options} [options]
   * @returns {Promise<Speech>} */
  speak(text, options = {}) {
    return joined(this.#spoken("stream", text, options));
  }

  /** Speaks a plan. @param {Plan} plan @param {{signal?: AbortSignal}} [options] @returns {Promise<Speech>} */
  render(plan, { signal } = {}) {
    return joined(this.#spoken("render", plan, { signal }));
  }

  /** The chunks of what `render` speaks. @param {Plan} plan @param {{signal?: AbortSignal}} [options]
   * @returns {AsyncGenerator<Chunk>} */
  renderStream(plan, { signal } = {}) {
    return chunks(this.#spoken("render", plan, { signal }));
  }

  /** Ends the worker, whatever it computes, and frees its memory; what waits for it is rejected. */
  close() {
    this.#closed = true;
    this.#loaded?.then(({ remote }) => remote.close(), () => {}); // what could not be loaded is closed
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

  /** The plan, and then the parts of `Speaking`.
   * @param {"stream" | "render"} method @param {string | Iterable<string> | Plan} what @param {Options} options
   * @returns {AsyncGenerator<any>} */
  async *#spoken(method, what, options) {
    const { remote } = await this.#ready();
    try {
      yield* remote.stream(method, method === "stream" ? sendable(what) : what, options);
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

/** A bundle in a worker, and the names of its voices. @param {URL} folder @param {Opening} options */
async function load(folder, options) {
  const remote = await RemoteModel.open(folder, options);
  try {
    const voices = await remote.prepare();
    globalThis.navigator?.storage?.persist?.(); // or the browser may give up what it keeps, and load it again
    return { remote, voices };
  } catch (error) {
    remote.close();
    throw error;
  }
}

/** A text as a message takes it: a string, or its portions. @param {any} text */
const sendable = (text) => (typeof text === "string" ? text : [...text]);

/** What to throw in place of an error. @param {any} error @param {AbortSignal | undefined} signal */
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
