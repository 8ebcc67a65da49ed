/** Weights with fewer bits, and taps of filtered kernels: as `kokoro_tvm/runtime/bundle/quantized.py`, bit for bit. */

/**
 * Format of a tensor: `bits` per weight; `shape` (blocks, taps, terms, columns); `points` (points, taps).
 * @typedef {{bits: number, shape: [number, number, number, number], points: number[][]}} Quantized
 */

/**
 * Return the bytes of the float32 weights.
 * @param {Quantized} quantized
 * @returns {number}
 */
export const widenedSize = ({ shape: [blocks, , terms, columns], points }) => 4 * blocks * points.length * terms * columns;

/**
 * Return the stored bytes.
 * @param {Quantized} quantized
 * @returns {number}
 */
export function quantizedSize({ bits, shape: [blocks, taps, terms, columns] }) {
  const count = blocks * taps * terms * columns;
  return 4 * blocks * columns + count + Math.ceil((count * (bits - 8)) / 8);
}

/**
 * Write the weights (blocks, points, terms, columns).
 * @param {Uint8Array} bytes at an offset of their buffer that is a multiple of 4
 * @param {Quantized} quantized
 * @param {Float32Array} out
 */
export function widen(bytes, { bits, shape: [blocks, taps, terms, columns], points }, out) {
  const scales = new Float32Array(bytes.buffer, bytes.byteOffset, blocks * columns);
  const low = bits - 8;
  const mask = (1 << low) - 1;
  const middle = 1 << (bits - 1);
  const size = terms * columns; // of a tap, and of a point
  let upper = 4 * blocks * columns;
  let lower = upper + blocks * taps * size;
  let rest = 0; // bits that were read and not used
  let count = 0; // their number
  const weights = new Float32Array(taps * size); // of a block
  const sums = new Float64Array(size);
  for (let block = 0, place = 0; block < blocks; ++block) {
    for (let i = 0; i < weights.length; ) {
      for (let scale = block * columns; scale < (block + 1) * columns; ++scale) {
        for (; count < low; count += 8) rest |= bytes[lower++] << count;
        weights[i++] = (((bytes[upper++] << low) | (rest & mask)) - middle) * scales[scale];
        rest >>= low;
        count -= low;
      }
    }
    for (const factors of points) {
      for (let i = 0; i < size; ++i) sums[i] = factors[0] * weights[i];
      for (let tap = 1; tap < taps; ++tap) {
        for (let i = 0; i < size; ++i) sums[i] += factors[tap] * weights[tap * size + i];
      }
      for (let i = 0; i < size; ++i) out[place++] = sums[i];
    }
  }
}
