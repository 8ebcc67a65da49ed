/** A synthesizer that is a bundle for WebAssembly beside the page, computed by a worker in the browser. */

import { InputError } from "./errors.js";
import { FrontEndFile } from "./frontend/data.js";
import { FrontEnd } from "./frontend/front_end.js";
import { Planner } from "./planner.js";
import { render } from "./rendering.js";
import { RemoteModel } from "./runtime/remote.js";
import { SpeechError } from "./synthesizer.js";
import { Voices } from "./voices.js";
import { wordsOfPiece } from "./words.js";

const BUNDLE = "bundle/"; // beside the page
const SAMPLE_RATE = 24000; // of every Kokoro model

/** @typedef {import("./synthesizer.js").Chunk} Chunk */
/** @typedef {import("./synthesizer.js").Options} Options */
/** @typedef {import("./runtime/pieces.js").Progress} Progress */

/** Names of errors while it is loaded -> kinds of what the page is told. */
const KINDS = { ConnectionError: "unreachable", UnsupportedError: "unsupported", MemoryError: "memory" };

/**
 * A bundle in the folder `bundle/` beside the page; loading it begins at once.
 *
 * @param {string} base the page's address
 * @param {{onprogress?: (progress: Progress) => void}} [options] onprogress: called as it is loaded
 * @returns {Promise<BundleSynthesizer>}
 */
export async function open(base, options) {
  return new BundleSynthesizer(new URL(BUNDLE, base), options);
}

/** Text to speech with the bundle in a folder. */
export class BundleSynthesizer {
  #folder;
  #options;
  /** @type {ReturnType<typeof load> | null} */
  #loaded = null;

  /** @param {URL} folder @param {{onprogress?: (progress: Progress) => void}} [options] */
  constructor(folder, options = {}) {
    this.sampleRate = SAMPLE_RATE;
    this.#folder = folder;
    this.#options = options;
    this.#ready().catch(() => {}); // whoever asks for something is told
  }

  /** @returns {Promise<string[]>} rejected with `unloadable`, `unreachable`, `unsupported` or
   * `memory`; asking again loads what is not there yet */
  async voices() {
    const { voices } = await this.#ready();
    return voices.names;
  }

  /**
   * Speaks piece by piece; after `signal`, no component is begun.
   *
   * @param {string} text
   * @param {Options & {seed?: bigint}} options
   * @returns {AsyncGenerator<Chunk>}
   */
  async *stream(text, { voice, speed = 1, seed = 0n, signal }) {
    const { model, voices, planner } = await this.#ready();
    const options = { voice, speed, seed };
    let start = 0;
    try {
      const plan = planner.empty(options);
      for await (const { piece, features } of planner.pieces(text, options)) {
        signal?.throwIfAborted();
        const words = [...wordsOfPiece(plan, piece, 0, start)].filter(({ spoken }) => spoken);
        yield { audio: new Float32Array(0), words: words.map(shown) };
        const table = voices.table(piece.voice ?? voice);
        const audio = await render(model, table, plan, piece, features);
        signal?.throwIfAborted();
        start += audio.length;
        yield { audio, words: [] };
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof InputError) throw new SpeechError("refused", error.message, { cause: error });
      throw new SpeechError("broken", error.message, { cause: error });
    }
  }

  async #ready() {
    this.#loaded ??= load(this.#folder, this.#options);
    try {
      return await this.#loaded;
    } catch (error) {
      this.#loaded = null; // so that it can be asked for again
      throw new SpeechError(KINDS[error.name] ?? "unloadable", error.message, { cause: error });
    }
  }
}

/** Model, voices and planner of a bundle.
 * @param {URL} folder @param {{onprogress?: (progress: Progress) => void}} options */
async function load(folder, options) {
  const remote = await RemoteModel.open(folder, options);
  const { manifest, sampleRate, samplesPerFrame, most } = remote;
  const [tables, read] = await Promise.all([manifest.voices, manifest.front_end].map((entry) => remote.file(entry)));
  const model = {
    vocabulary: new Map(Object.entries(remote.vocabulary)), sampleRate, samplesPerFrame, most,
    predict: remote.predict.bind(remote),
    decode: remote.decode.bind(remote),
  };
  navigator.storage?.persist?.(); // or the browser may give up what it keeps, and load it again
  const voices = Voices.open(tables, 2 * manifest.style_dim);
  return { model, voices, planner: new Planner(model, voices, new FrontEnd(await FrontEndFile.open(read))) };
}

const shown = ({ text, start, end, source }) => ({ word: text, start, end, source });
