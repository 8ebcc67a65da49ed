/** The golden word: an utterance that the build computed, with which this browser's result is compared. */

import { BundleError, UnsupportedError } from '../errors.js';
import { readSafetensors } from '../safetensors.js';
import { RELAXED } from './features.js';

/**
 * Required signal-to-noise ratio of a GPU and of relaxed SIMD, in dB. Correct ones differ by rounding, which may turn
 * a phase: 60 dB or more. The ear hears errors below 20.
 */
export const LEAST_DB = 30;

const CACHE = 'kokoro-tvm-golden'; // of the browser
const SEED = Uint32Array.of(0, 0, 0);

/**
 * Compare a model's golden word with the build's.
 * @param {import('./model.js').Model} model
 * @returns {Promise<number | null>} dB of signal to noise, infinite where every bit is the same; null where the bundle
 *   brings no golden word. Rejected with what the model fails with
 */
export async function likeness(model) {
  const { bundle } = model;
  const entry = bundle.manifest.golden;
  if (!entry) return null;
  const tensors = readSafetensors(await bundle.file(entry), entry.file);
  const [tokens, style, audio] = ['tokens', 'style', 'audio'].map((name) => {
    const result = tensors.get(name);
    if (!result) throw new BundleError(`${entry.file} has no ${name}. Build the bundle again.`);
    return result.values;
  });
  const row = Float32Array.from(style);
  const ids = Array.from(tokens);
  const { durations, features } = await model.predict(ids, row);
  const frames = [...durations].map((duration) => Math.max(1, Math.round(duration)));
  return signalToNoise(await model.decode(ids, row, frames, features, SEED), /** @type {Float32Array} */ (audio));
}

/**
 * Compare what WebAssembly computes once per bundle and browser, whose cache remembers it. Without relaxed SIMD, all
 * bits are equal everywhere. Node has computed the word. Throws an UnsupportedError.
 * @param {import('./model.js').Model} model
 */
export async function confirm(model) {
  if (!globalThis.caches) return;
  const what = new TextEncoder().encode(`${JSON.stringify(model.bundle.manifest)} ${navigator.userAgent}`);
  const mark = new URL(hexadecimal(await crypto.subtle.digest('SHA-256', what)), self.location.href).href;
  const store = await caches.open(CACHE).catch(() => null); // not available in private windows
  if (await store?.match(mark)) return;
  const decibels = await likeness(model);
  const least = model.bundle.manifest.cpu_features.includes(RELAXED) ? LEAST_DB : Infinity;
  if (decibels !== null && !(decibels >= least)) {
    throw new UnsupportedError("Its WebAssembly gives other samples than the bundle's build did.");
  }
  await store?.put(mark, new Response()).catch(() => {}); // full quota: compare again next time
}

const hexadecimal = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Return the signal-to-noise ratio in dB, 0 for another length.
 * @param {Float32Array} result
 * @param {Float32Array} expected
 */
export function signalToNoise(result, expected) {
  if (result.length !== expected.length) return -Infinity;
  let [signal, noise] = [0, 0];
  expected.forEach((value, place) => {
    signal += value * value;
    noise += (result[place] - value) ** 2;
  });
  return 10 * Math.log10(signal / noise);
}
