/** Module worker that computes, so that the page stays responsive: see `remote.js`. */

import { openModel } from './choosing.js';
import { Speaking } from './speaking.js';

const MOST_THREADS = 8; // more threads share too little work, and a machine has other tasks

/** The browser's number of cores if memory can be shared, that is if the page is cross-origin isolated. */
const threads = self.crossOriginIsolated ? Math.min(navigator.hardwareConcurrency, MOST_THREADS) : 1;
/** @type {any} a `Model` */
let model;
/** @type {Speaking} */
let speaking;
/** Pending requests and open streams by number of their request. */
const aborts = new Map();
const streams = new Map();

const methods = {
  async open(_, base, gpu) {
    model = await openModel(new URL(base), gpu && new URL(gpu), {
      threads,
      onprogress: (progress) => self.postMessage({ progress }),
      onway: (way) => self.postMessage({ way }),
    });
    const { vocabulary, sampleRate, samplesPerFrame, most, bundle } = model;
    return { manifest: bundle.manifest, threads, vocabulary, sampleRate, samplesPerFrame, most };
  },
  predict: (_, ...values) => model.predict(...values),
  decode: (_, ...values) => model.decode(...values),

  /** Load voices and front end, and return the names of the voices. */
  async prepare() {
    speaking = await Speaking.open(model);
    model.bundle.settle();
    return speaking.voices;
  },
  addVoices: (_, file, data) => speaking.addVoices(file, data),
  plan: (context, ...values) => speaking.plan(context, ...values),
  planPhonemes: (context, ...values) => speaking.planPhonemes(context, ...values),

  /** Begin a stream with the number of this request, and return its plan without pieces. */
  begin({ id, signal, warn }, method, ...values) {
    const stream = { warn, parts: null };
    const [plan, parts] = speaking[method]({ signal, warn: (...notice) => stream.warn(...notice) }, ...values);
    stream.parts = parts;
    streams.set(id, stream);
    return plan;
  },
  /** Return the next part of a stream; undefined at the end. */
  async next({ warn }, number) {
    const stream = streams.get(number);
    stream.warn = warn;
    const { done, value } = await stream.parts.next();
    if (done) end(number);
    return value;
  },
};

/** End a request or stream whose caller stopped waiting. */
function end(number) {
  aborts.get(number)?.abort();
  aborts.delete(number);
  streams.get(number)?.parts.return().catch(() => {}); // frees its plan; the abort ends what still computes
  streams.delete(number);
}

self.onmessage = async ({ data: { id, method, values, ended } }) => {
  if (ended !== undefined) return end(ended);
  const abort = new AbortController();
  aborts.set(id, abort);
  try {
    const warn = (notice, words) => self.postMessage({ id, notice, words });
    const result = await methods[method]({ id, signal: abort.signal, warn }, ...values);
    const audio = result?.audio ?? result;
    self.postMessage({ id, result }, audio instanceof Float32Array ? [audio.buffer] : []); // transferred, not copied
  } catch (error) {
    self.postMessage({ id, error: { name: error.name, message: error.message } });
  }
  if (!streams.has(id)) aborts.delete(id);
};
