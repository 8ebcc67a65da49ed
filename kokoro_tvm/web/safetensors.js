/** Reader of safetensors files (https://huggingface.co/docs/safetensors). */

import { BundleError } from "./errors.js";

const ARRAYS = { F32: Float32Array, I32: Int32Array, U8: Uint8Array };

/**
 * Return shape and values of every tensor by name; values are views of `data` if that is aligned.
 * @param {Uint8Array} data
 * @param {string} name of the file, for messages
 * @returns {Map<string, {shape: number[], values: any}>}
 */
export function readSafetensors(data, name) {
  try {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const size = Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(data.subarray(8, 8 + size)));
    const result = new Map();
    for (const [tensor, entry] of Object.entries(header)) {
      if (tensor === "__metadata__") continue;
      const [start, end] = entry.data_offsets.map((offset) => offset + 8 + size);
      const values = array(data, ARRAYS[entry.dtype], start, end);
      if (values.length !== entry.shape.reduce((a, b) => a * b, 1)) throw new RangeError(`${tensor} is cut short`);
      result.set(tensor, { shape: entry.shape, values });
    }
    return result;
  } catch (error) {
    throw new BundleError(`${name} is no safetensors file (${error}). Download it again.`);
  }
}

function array(data, type, start, end) {
  if (end > data.byteLength) throw new RangeError("the file is cut short");
  const offset = data.byteOffset + start;
  const count = (end - start) / type.BYTES_PER_ELEMENT;
  if (offset % type.BYTES_PER_ELEMENT === 0) return new type(data.buffer, offset, count);
  return new type(new Uint8Array(data.subarray(start, end)).buffer); // `slice` of Node's Buffer copies nothing
}
