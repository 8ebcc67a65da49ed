/** The golden word: an utterance that the build has computed, and that whatever computes here is compared with. */

import { BundleError, UnsupportedError } from '../errors.js';
import { readSafetensors } from '../safetensors.js';
import { RELAXED } from './features.js';

/** What a GPU, and relaxed SIMD, has to have in common with the build, in dB of signal to noise. Right ones round otherwise, which may turn a
 * phase: 60 dB and more. Of what is wrong the ear hears what is below 20. */
export const LEAST_DB = 30;

const CACHE = 'kokoro-tvm-golden'; // of the browser
const SEED = Uint32Array.of(0, 0, 0);

/** Whether what a model computes is what the build has computed.
 * @param {import('./model.js').Model} model
 * @returns {Promise<number | null>} dB of signal to noise, infinite where every bit is the same; null where the bundle brings
 *   no golden word. Rejected with what the model fails with */
export async function likeness(model) {
  const { bundle } = model;
  const entry = bundle.manifest.golden;
  if (!entry) return null;
  const tensors = readSafetensors(await bundle.file(entry), entry.file);
  const [tokens, style, audio] = ['tokens', 'style', 'audio'].map((name) => {
    const found = tensors.get(name);
    if (!found) throw new BundleError(`${entry.file} has no ${name}. Build the bundle again.`);
    return found.values;
  });
  const row = Float32Array.from(style);
  const ids = Array.from(tokens);
  const { durations, features } = await model.predict(ids, row);
  const frames = [...durations].map((duration) => Math.max(1, Math.round(duration)));
  return signalToNoise(await model.decode(ids, row, frames, features, SEED), /** @type {Float32Array} */ (audio));
}

/** Compares what WebAssembly computes, which is the same bits everywhere but with relaxed SIMD: once for each bundle and browser,
 * whose cache remembers it. Node is what has computed the word. Throws an UnsupportedError.
 * @param {import('./model.js').Model} model */
export async function confirm(model) {
  if (!globalThis.caches) return;
  const what = new TextEncoder().encode(`${JSON.stringify(model.bundle.manifest)} ${navigator.userAgent}`);
  const mark = new URL(hexadecimal(await crypto.subtle.digest('SHA-256', what)), self.location.href).href;
  const store = await caches.open(CACHE).catch(() => null); // private windows have none
  if (await store?.match(mark)) return;
  const decibels = await likeness(model);
  const least = model.bundle.manifest.cpu_features.includes(RELAXED) ? LEAST_DB : Infinity;
  if (decibels !== null && !(decibels >= least)) {
    throw new UnsupportedError("Its WebAssembly gives other samples than the bundle's build did.");
  }
  await store?.put(mark, new Response()).catch(() => {}); // a full quota: it is compared again
}

const hexadecimal = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** dB of signal to noise; that of another length is none. @param {Float32Array} found @param {Float32Array} expected */
export function signalToNoise(found, expected) {
  if (found.length !== expected.length) return -Infinity;
  let [signal, noise] = [0, 0];
  expected.forEach((value, place) => {
    signal += value * value;
    noise += (found[place] - value) ** 2;
  });
  return 10 * Math.log10(signal / noise);
}
