/** A module worker that computes, so that the page answers meanwhile: see `remote.js`. */

import { Bundle, fetched } from './bundle.js';
import { Model } from './model.js';

let model;

const methods = {
  async open(base) {
    model = new Model(await Bundle.open(fetched(base)));
    const { vocabulary, sampleRate, samplesPerFrame, most } = model;
    return { manifest: model.bundle.manifest, vocabulary, sampleRate, samplesPerFrame, most };
  },
  file: (entry) => model.bundle.file(entry),
  predict: (...values) => model.predict(...values),
  decode: (...values) => model.decode(...values),
};

self.onmessage = async ({ data: { id, method, values } }) => {
  try {
    self.postMessage({ id, result: await methods[method](...values) });
  } catch (error) {
    self.postMessage({ id, error: { name: error.name, message: error.message } });
  }
};
