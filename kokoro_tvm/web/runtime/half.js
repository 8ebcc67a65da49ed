/** Conversion of float16 to float32. Not every browser has Float16Array, and a table is as fast. */

let table; // all float16 numbers by their bits

/**
 * Convert little-endian float16 numbers to float32.
 * @param {Uint8Array} bytes of float16, at an even offset of their buffer
 * @param {Float32Array} out
 */
export function widen(bytes, out) {
  table ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => number(bits));
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  for (let place = 0; place < halves.length; ++place) out[place] = table[halves[place]];
}

/** Return the number of 1 bit of sign, 5 of exponent and 10 of fraction (IEEE 754). @param {number} bits */
function number(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
}
