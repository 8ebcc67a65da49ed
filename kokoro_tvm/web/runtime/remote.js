/** A `Model` in a worker. */

import { ConnectionError, UnsupportedError } from '../errors.js';

/**
 * What computes now, and why it is not the GPU if a bundle for one was given.
 * @typedef {{computes: 'gpu' | 'wasm', notice: string | null}} Way
 */

function ofPage() {
  if (!globalThis.Worker) throw new UnsupportedError('It has no module workers.');
  return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
}

/**
 * Proxy of `Model` and `Speaking` in a worker, one call after the other, with `manifest` and `threads`, the number
 * that compute: one if the page is not cross-origin isolated.
 */
export class RemoteModel {
  /**
   * Load a bundle in a new worker.
   * @param {string | URL} base the bundle's folder, an address that ends in a slash
   * @param {{onprogress?: (progress: import('./pieces.js').Progress) => void, worker?: () => Worker, gpu?: string |
   *   URL, onway?: (way: Way) => void}} [options] onprogress: called as it is loaded; worker: what starts the worker,
   *   where it is not a page's; gpu: the folder of a bundle for WebGPU, which computes where it can; onway: called
   *   once it is known whether it does, and where that changes
   * @returns {Promise<RemoteModel>} rejected with what `Pieces.open` and `Bundle.open` throw
   */
  static async open(base, { onprogress = () => {}, worker = ofPage, gpu, onway = () => {} } = {}) {
    const model = new RemoteModel(worker(), onprogress, onway);
    const address = (folder) => String(new URL(folder, globalThis.location?.href));
    try {
      return Object.assign(model, await model.#call('open', address(base), gpu ? address(gpu) : null));
    } catch (error) {
      model.close();
      throw error;
    }
  }

  /** The worker's answer after loading: the manifest, and the properties of `Model`. @type {any} */
  manifest;
  /** @type {Record<string, number>} */
  vocabulary = {};
  threads = 1;
  sampleRate = 0;
  samplesPerFrame = 0;
  most = { tokens: 0, frames: 0 };
  #worker;
  #waiting = new Map();
  #next = 0;
  /** @type {Error | null} */
  #end = null; // reason why nothing is answered any more

  /** @param {Worker} worker @param {(progress: import('./pieces.js').Progress) => void} onprogress
   * @param {(way: Way) => void} onway */
  constructor(worker, onprogress, onway) {
    this.#worker = worker;
    this.#worker.onmessage = ({ data: { id, result, error, progress, notice, words, way } }) => {
      if (progress) return onprogress(progress);
      if (way) return onway(way);
      const { resolve, reject, warn } = this.#waiting.get(id);
      if (notice !== undefined) return warn?.(notice, words);
      this.#waiting.delete(id);
      if (error) reject(Object.assign(new Error(error.message), { name: error.name }));
      else resolve(result);
    };
    this.#worker.onerror = ({ message }) => {
      // A file that cannot be loaded gives no message.
      if (message) this.#fail(new Error(`The worker cannot be run: ${message}.`));
      else this.#fail(new ConnectionError('A file of the page cannot be loaded.'));
    };
  }

  /** See `Model.predict`. */
  predict(tokens, style) {
    return this.#call('predict', tokens, style);
  }

  /** See `Model.decode`. */
  decode(tokens, style, durations, features, seed, pitch = null, window = null) {
    return this.#call('decode', tokens, style, durations, features, seed, pitch, window);
  }

  /** Load voices and front end, which the next methods need. @returns {Promise<string[]>} the names of the voices */
  prepare() {
    return this.#call('prepare');
  }

  /**
   * See `Speaking.addVoices`.
   * @param {string} file
   * @param {Uint8Array} data
   * @returns {Promise<string[]>}
   */
  addVoices(file, data) {
    return this.#call('addVoices', file, data);
  }

  /**
   * Return a plan as a message has it, see `revived`.
   * @param {"plan" | "planPhonemes"} method of `Speaking`
   * @param {any} text
   * @param {any} options those of a planner, `signal` and `warn`
   */
  plan(method, text, { signal, warn, ...options }) {
    return this.#request(signal, warn, method, text, options)[1];
  }

  /**
   * Yield the results of a method of `Speaking`: the plan, then every part. No component is started after the signal
   * aborts or the caller stops reading.
   * @param {"stream" | "speak" | "render"} method
   * @param {any} what
   * @param {any} options
   * @returns {AsyncGenerator<any>}
   */
  async *stream(method, what, { signal, warn, ...options }) {
    const [number, plan] = this.#request(signal, warn, 'begin', method, what, options);
    try {
      yield await plan;
      for (;;) {
        const part = await this.#request(signal, warn, 'next', number)[1];
        if (!part) return;
        yield part;
      }
    } finally {
      if (!this.#end) this.#worker.postMessage({ ended: number });
    }
  }

  /** End the worker. Pending calls are rejected. */
  close() {
    this.#worker.terminate();
    this.#fail(new DOMException('the model was closed', 'AbortError'));
  }

  #call(method, ...values) {
    return this.#request(undefined, undefined, method, ...values)[1];
  }

  /**
   * Send a request. Return its number and its result, which is rejected as soon as the signal aborts.
   * @param {AbortSignal | undefined} signal
   * @param {import('../notices.js').Warn | undefined} warn
   * @param {string} method
   * @returns {[number, Promise<any>]}
   */
  #request(signal, warn, method, ...values) {
    const id = this.#next++;
    const result = new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#end) throw this.#end;
      this.#waiting.set(id, { resolve, reject, warn });
      this.#worker.postMessage({ id, method, values });
    });
    return [id, signal ? this.#unlessAborted(result, signal, id) : result];
  }

  #unlessAborted(result, signal, id) {
    return new Promise((resolve, reject) => {
      const stop = () => {
        reject(signal.reason);
        if (!this.#end) this.#worker.postMessage({ ended: id });
      };
      signal.addEventListener('abort', stop, { once: true });
      result.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }

  #fail(error) {
    this.#end = error;
    this.#waiting.forEach(({ reject }) => reject(error));
    this.#waiting.clear();
  }
}
