/** Memory of the runtime. */

const LEAST = 16384; // pages of 64 KiB, 1 GiB: weights take 0.4

/**
 * Create a memory. The maximum of a shared one is reserved at once, which phones refuse for large sizes; it is then
 * halved, down to 1 GiB. Throws the browser's RangeError if none is granted.
 * @param {{initial: number, maximum: number}} limits pages
 * @param {boolean} shared by threads
 * @returns {WebAssembly.Memory}
 */
export function newMemory({ initial, maximum }, shared) {
  const halved = maximum / 2;
  try {
    return new WebAssembly.Memory({ initial, maximum, shared });
  } catch (error) {
    if (!shared || !(error instanceof RangeError) || halved < Math.max(LEAST, initial)) throw error;
  }
  return newMemory({ initial, maximum: halved }, shared);
}
