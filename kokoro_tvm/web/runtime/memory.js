/** Memory of the runtime. */

const LEAST = 16384; // pages of 64 KiB, 1 GiB: weights are 0.4 of it

/** A new memory. The largest size of one that threads share is reserved at once, which phones refuse for sizes that
 * computers grant; it is then halved, down to 1 GiB. Throws the browser's RangeError where it grants none.
 * @param {{initial: number, maximum: number}} limits pages @param {boolean} shared by threads
 * @returns {WebAssembly.Memory} */
export function newMemory({ initial, maximum }, shared) {
  const halved = maximum / 2;
  try {
    return new WebAssembly.Memory({ initial, maximum, shared });
  } catch (error) {
    if (!shared || !(error instanceof RangeError) || halved < Math.max(LEAST, initial)) throw error;
  }
  return newMemory({ initial, maximum: halved }, shared);
}
