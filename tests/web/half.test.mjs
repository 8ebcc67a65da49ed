import assert from "node:assert/strict";
import { test } from "node:test";
import { widen } from "../../kokoro_tvm/web/runtime/half.js";

test("widen converts float16 to float32", () => {
  const known = {
    0x0000: 0, 0x8000: -0, 0x0001: 2 ** -24, 0x03ff: 1023 * 2 ** -24, 0x0400: 2 ** -14, 0x3555: 0.333251953125,
    0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x7c00: Infinity, 0xfc00: -Infinity, 0x7e00: NaN,
  };
  const bytes = new Uint8Array(64 + Uint16Array.from(Object.keys(known)).byteLength);
  bytes.set(new Uint8Array(Uint16Array.from(Object.keys(known)).buffer), 64);
  const out = new Float32Array(Object.keys(known).length);
  widen(bytes.subarray(64), out);
  assert.deepEqual([...out], Object.values(known));
});
