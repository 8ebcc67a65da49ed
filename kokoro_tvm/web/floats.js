/** Conversion of little-endian numbers of 2, 4 or 8 bytes to float32. */

import { widen } from "./runtime/half.js";

/** @param {Uint8Array} bytes @param {number} size of a number @returns {Float32Array} */
export function floats(bytes, size) {
  const own = new Uint8Array(bytes).buffer; // aligned
  if (size === 4) return new Float32Array(own);
  if (size === 8) return Float32Array.from(new Float64Array(own));
  const values = new Float32Array(bytes.length / 2);
  widen(new Uint8Array(own), values);
  return values;
}
