/** Features of this engine's WebAssembly by LLVM's names: each is a module that compiles only with the feature. */

/** A product and a sum in one instruction, rounded once or twice depending on the CPU. */
export const RELAXED = 'relaxed-simd';

const MODULES = {
  // An unshared memory and one function: (i32.const 0) (i32.atomic.load), of type () -> i32.
  atomics: [1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 5, 3, 1, 0, 1, 10, 10, 1, 8, 0, 65, 0, 254, 16, 2, 0, 11],
  // One function: (i32.const 0) (i8x16.splat), three times, (f32x4.relaxed_madd), of type () -> v128.
  [RELAXED]: [
    ...[1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0],
    ...[65, 0, 253, 15, 65, 0, 253, 15, 65, 0, 253, 15, 253, 133, 2, 11],
  ],
  // One function: (i32.const 0) (i8x16.splat) (i8x16.popcnt), of type () -> v128.
  simd128: [1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11],
};
const HEAD = [0, 97, 115, 109, 1, 0, 0, 0];

/** @returns {string[]} */
export function features() {
  if (!globalThis.WebAssembly) return []; // switched off, as in a browser that is locked down
  return Object.keys(MODULES).filter((name) =>
    WebAssembly.validate(new Uint8Array([...HEAD, ...MODULES[name]])),
  );
}
