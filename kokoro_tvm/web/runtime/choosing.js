/** Choice of what computes: a GPU if it reproduces the golden word, else WebAssembly. */

import { BundleError, MemoryError } from '../errors.js';
import { Bundle } from './bundle.js';
import { Folder, below } from './folder.js';
import { LEAST_DB, confirm, likeness } from './golden.js';
import { Gpu, GpuError } from './gpu.js';
import { Model } from './model.js';
import { Pieces } from './pieces.js';

const INSTEAD = 'WebAssembly computes in its place.';

/**
 * @typedef {object} Options
 * @property {number} threads that compute together in WebAssembly
 * @property {(progress: import('./pieces.js').Progress) => void} onprogress called as a bundle is loaded
 * @property {(way: import('./remote.js').Way) => void} onway called once it is known what computes, and where that changes
 */

/**
 * Load a bundle, and one for a GPU if it is given and usable.
 * @param {URL} base an address that ends in a slash
 * @param {URL | null} gpu another, of the same model's bundle
 * @param {Options} options
 * @returns {Promise<Model | Yielding>} rejected with what `Pieces.open` and `Bundle.open` throw
 */
export async function openModel(base, gpu, options) {
  const wasm = () => load(base, gpu ? [gpu] : [], options);
  if (!gpu) return computed(wasm, null, options);
  try {
    const model = await loadOnGpu(gpu, [base], options);
    options.onway({ computes: 'gpu', notice: null });
    return new Yielding(model, (error) => computed(wasm, error, options));
  } catch (error) {
    if (!yields(error)) throw error;
    return computed(wasm, error, options);
  }
}

/** Return whether an error is the GPU's or its bundle's; a lost connection affects any bundle. */
const yields = (error) => error instanceof GpuError || error instanceof BundleError || error instanceof MemoryError;

/** @param {() => Promise<Model>} wasm @param {Error | null} error why it is not the GPU @param {Options} options */
async function computed(wasm, error, { onway }) {
  const model = await wasm();
  await confirm(model);
  onway({ computes: 'wasm', notice: error && `${error.message} ${INSTEAD}` });
  return model;
}

/** A `Model` on a GPU, and another one after a failure. The text side is WebAssembly in both. */
class Yielding {
  #model;
  #replace;
  /** @type {Promise<Model> | null} */
  #other = null; // the replacement of the GPU

  /** @param {Model} model @param {(error: Error) => Promise<Model>} replace */
  constructor(model, replace) {
    this.#model = model;
    this.#replace = replace;
    const { bundle, vocabulary, sampleRate, samplesPerFrame, most } = model;
    Object.assign(this, { bundle, vocabulary, sampleRate, samplesPerFrame, most });
  }

  /** See `Model.predict`. */
  predict(...values) {
    return this.#model.predict(...values);
  }

  /** See `Model.decode`. After a failure of the GPU, the replacement computes it again. */
  async decode(...values) {
    if (!this.#other) {
      try {
        return await this.#model.decode(...values);
      } catch (error) {
        if (!yields(error)) throw error;
        this.#other ??= this.#replaced(error);
      }
    }
    return (await this.#other).decode(...values);
  }

  /** @param {Error} error */
  async #replaced(error) {
    const failed = this.#model;
    try {
      this.#model = await this.#replace(error);
    } catch (failure) {
      this.#other = null; // so that it is tried again
      throw failure;
    }
    this.bundle = this.#model.bundle;
    this.bundle.settle();
    failed.bundle.close();
    return this.#model;
  }
}

/** @param {URL} base @param {URL[]} others bundles of the same site @param {Options} options */
async function load(base, others, { threads, onprogress }) {
  const pieces = await Pieces.open(base, onprogress);
  try {
    const model = new Model(await Bundle.open(new Folder(below(pieces?.base ?? base)), { pieces, threads }));
    await pieces?.removeOthers(...others);
    return model;
  } catch (error) {
    if (error instanceof RangeError) throw new MemoryError(`${error.message}.`); // of an array, or a module
    throw error;
  }
}

/**
 * Load a model that reproduced the golden word.
 * @param {URL} base
 * @param {URL[]} others bundles of the same site
 * @param {Options} options
 */
async function loadOnGpu(base, others, { threads, onprogress }) {
  const folder = new Folder(below(base));
  const { precision } = await folder.json('bundle.json');
  const gpu = await Gpu.open({ float16: precision === 'float16' }); // before anything else of it is loaded
  try {
    const pieces = await Pieces.open(base, onprogress);
    const model = new Model(await Bundle.open(folder, { pieces, threads, gpu }));
    const decibels = await likeness(model);
    if (decibels === null) throw new BundleError('The bundle has no word to compare what the GPU computes with.');
    if (!(decibels >= LEAST_DB)) throw new GpuError('The GPU computes something else than it should.');
    await pieces?.removeOthers(...others);
    return model;
  } catch (error) {
    gpu.close();
    if (error instanceof RangeError) throw new MemoryError(`${error.message}.`);
    throw error;
  }
}
