/** A module worker that computes, so that the page answers meanwhile: see `remote.js`. */

import { MemoryError } from '../errors.js';
import { Bundle } from './bundle.js';
import { Folder, below } from './folder.js';
import { Model } from './model.js';
import { Pieces } from './pieces.js';

const MOST_THREADS = 8; // more share too little work, and a machine has other things to do

/** As many as the browser names cores, where pages may share memory: where they are cross-origin isolated. */
const threads = self.crossOriginIsolated ? Math.min(navigator.hardwareConcurrency, MOST_THREADS) : 1;
let model;

const methods = {
  async open(base) {
    const pieces = await Pieces.open(new URL(base), (progress) => self.postMessage({ progress }));
    try {
      model = new Model(await Bundle.open(new Folder(below(base)), { pieces, threads }));
    } catch (error) {
      if (error instanceof RangeError) throw new MemoryError(`${error.message}.`); // of an array, or a module
      throw error;
    }
    await pieces?.removeOthers();
    const { vocabulary, sampleRate, samplesPerFrame, most, bundle } = model;
    return { manifest: bundle.manifest, threads, vocabulary, sampleRate, samplesPerFrame, most };
  },
  file: (entry) => model.bundle.file(entry),
  predict: (...values) => model.predict(...values),
  decode: (...values) => model.decode(...values),
};

self.onmessage = async ({ data: { id, method, values } }) => {
  try {
    const result = await methods[method](...values);
    self.postMessage({ id, result }, result.buffer ? [result.buffer] : []); // bytes are handed over, not copied
  } catch (error) {
    self.postMessage({ id, error: { name: error.name, message: error.message } });
  }
};
