/** A `Model` in a worker of its own. */

import { ConnectionError, UnsupportedError } from '../errors.js';

function ofPage() {
  if (!globalThis.Worker) throw new UnsupportedError('It has no module workers.');
  return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
}

/** The same calls as `Model`, one after the other, and what it knows besides: `manifest`, and `threads`, how many
 * compute. That is one where the page is not cross-origin isolated. */
export class RemoteModel {
  /**
   * Loads a bundle in a new worker.
   * @param {string | URL} base the bundle's folder, an address that ends in a slash
   * @param {{onprogress?: (progress: import('./pieces.js').Progress) => void, worker?: () => Worker}} [options]
   *   onprogress: called as it is loaded; worker: what starts the worker, where it is not a page's
   * @returns {Promise<RemoteModel>} rejected with what `Pieces.open` and `Bundle.open` throw
   */
  static async open(base, { onprogress = () => {}, worker = ofPage } = {}) {
    const model = new RemoteModel(worker(), onprogress);
    try {
      return Object.assign(model, await model.#call('open', String(new URL(base, globalThis.location?.href))));
    } catch (error) {
      model.close();
      throw error;
    }
  }

  /** What the worker gives once it has loaded: the manifest, and the same as `Model` has. @type {any} */
  manifest;
  /** @type {Record<string, number>} */
  vocabulary = {};
  sampleRate = 0;
  samplesPerFrame = 0;
  most = { tokens: 0, frames: 0 };
  #worker;
  #waiting = new Map();
  #next = 0;
  /** @type {Error | null} */
  #end = null; // why nothing is answered any more

  /** @param {Worker} worker @param {(progress: import('./pieces.js').Progress) => void} onprogress */
  constructor(worker, onprogress) {
    this.#worker = worker;
    this.#worker.onmessage = ({ data: { id, result, error, progress } }) => {
      if (progress) return onprogress(progress);
      const { resolve, reject } = this.#waiting.get(id);
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

  /** A file of the bundle; see `Bundle.file`. */
  file(entry) {
    return this.#call('file', entry);
  }

  /** See `Model.predict`. */
  predict(tokens, style) {
    return this.#call('predict', tokens, style);
  }

  /** See `Model.decode`. */
  decode(tokens, style, durations, features, seed, pitch = null) {
    return this.#call('decode', tokens, style, durations, features, seed, pitch);
  }

  /** Ends the worker, whatever it computes; what waits for it is rejected. */
  close() {
    this.#worker.terminate();
    this.#fail(new DOMException('the model was closed', 'AbortError'));
  }

  #call(method, ...values) {
    if (this.#end) return Promise.reject(this.#end);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, method, values });
    });
  }

  #fail(error) {
    this.#end = error;
    this.#waiting.forEach(({ reject }) => reject(error));
    this.#waiting.clear();
  }
}
