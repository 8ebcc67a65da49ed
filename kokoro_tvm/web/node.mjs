/** The package in Node, with bundles in folders. */

import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { BundleSynthesizer } from "./bundle_synthesizer.js";

export * from "./index.js";

/** Text to speech with the bundle in a folder. A thread computes it, and the process waits for that until `close`. */
export class Synthesizer extends BundleSynthesizer {
  /**
   * Load a bundle.
   * @param {string | URL} folder a path, or an address: `file:`, `http:` or `https:`
   * @param {import("./bundle_synthesizer.js").Opening} [options]
   * @returns {Promise<Synthesizer>} rejected with a SpeechError as it cannot be loaded
   */
  static async open(folder, options) {
    const address = isAddress(folder) ? folder : pathToFileURL(String(folder));
    return /** @type {Promise<Synthesizer>} */ (super.open(address, options));
  }

  /** @param {URL} folder an address that ends in a slash @param {import("./bundle_synthesizer.js").Opening} [options] */
  constructor(folder, options) {
    super(folder, { ...options, worker: () => /** @type {any} */ (new Thread()) });
  }
}

// A drive of Windows has one letter.
const isAddress = (/** @type {string | URL} */ folder) => folder instanceof URL || /^[a-z][a-z0-9+.-]+:/i.test(folder);

/** A thread of Node with the interface of a page's `Worker`. */
class Thread {
  #thread = new Worker(new URL("./runtime/node_worker.mjs", import.meta.url));

  /** @param {(event: {data: any}) => void} take */
  set onmessage(take) {
    this.#thread.on("message", (data) => take({ data }));
  }

  /** @param {(event: Error) => void} take */
  set onerror(take) {
    this.#thread.on("error", take);
  }

  /** @param {any} message @param {any} [transferred] */
  postMessage(message, transferred) {
    this.#thread.postMessage(message, transferred);
  }

  terminate() {
    this.#thread.terminate();
  }
}
