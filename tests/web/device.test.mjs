/** Weights on their way to a GPU, and the golden word. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { OnGpu } from "../../kokoro_tvm/web/runtime/device.js";
import { signalToNoise } from "../../kokoro_tvm/web/runtime/golden.js";
import { folded } from "../../kokoro_tvm/web/runtime/kernels.js";

const FLOATS = Float32Array.from({ length: 50 }, (_, place) => place / 3);
const HALVES = Uint16Array.of(0x3c00, 0xc000, 0x0001);

/** A safetensors file: [name, dtype, values] in order. */
function fileOf(...tensors) {
  const header = {};
  let end = 0;
  for (const [name, dtype, values] of tensors) {
    header[name] = { dtype, data_offsets: [end, (end += padded(values).length)] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([size, text, ...tensors.map(([, , values]) => padded(values))]);
}

/** Up to a multiple of 64 bytes. */
function padded(values) {
  const bytes = Buffer.alloc(Math.ceil(values.byteLength / 64) * 64);
  bytes.set(new Uint8Array(values.buffer));
  return bytes;
}

async function* inParts(file, size) {
  for (let at = 0; at < file.length; at += size) yield new Uint8Array(file.subarray(at, at + size));
}

/** What a GPU was given, by parameter. */
async function upload(file, parameters, part, size = file.length) {
  const buffers = [];
  const gpu = {
    filled(bytes, fill) {
      const room = new ArrayBuffer(bytes);
      fill(room);
      return buffers.push(room) - 1;
    },
  };
  const tvm = { tensor: (_, shape, dtype, number) => ({ dtype, buffer: buffers[number] }) };
  const component = { weights: { file: "a.safetensors", size }, parameters };
  return new OnGpu(tvm, gpu).parameters(component, inParts(file, part));
}

const parameter = (name, length, dtype = "float32") => ({ name, dtype, shape: [length] });

test("parameters reach the GPU in the order of the signature for any parts", async () => {
  const file = fileOf(["other", "F32", FLOATS], ["a", "F32", FLOATS], ["k", "F16", HALVES], ["b", "F32", FLOATS.slice(3)]);
  for (const part of [1, 7, 100, 1 << 20]) {
    const result = await upload(file, [parameter("b", 47), parameter("k", 3, "float16"), parameter("a", 50)], part);
    assert.deepEqual(new Float32Array(result[0].buffer).slice(0, 47), FLOATS.slice(3));
    assert.deepEqual(new Uint16Array(result[1].buffer).slice(0, 3), HALVES);
    assert.deepEqual(new Float32Array(result[2].buffer).slice(0, 50), FLOATS);
  }
});

test("parameters refuses a truncated file", async () => {
  const file = fileOf(["a", "F32", FLOATS]);
  const short = (end) => upload(file.subarray(0, end), [parameter("a", 50)], 64, file.length);
  await assert.rejects(short(file.length - 1), /^BundleError: a\.safetensors is cut short/);
  await assert.rejects(short(5), /^BundleError: a\.safetensors is cut short/);
});

test("folded folds grids as tvmjs", () => {
  assert.deepEqual([1, 65535, 65536, 65537, 200001].map(folded), [[1, 1], [65535, 1], [32768, 2], [32769, 2], [50001, 4]]);
});

test("signalToNoise returns dB, 0 for another length", () => {
  assert.equal(signalToNoise(FLOATS, FLOATS), Infinity);
  assert.equal(signalToNoise(FLOATS.slice(1), FLOATS), -Infinity);
  assert.ok(Math.abs(signalToNoise(FLOATS.map((value) => 1.01 * value), FLOATS) - 40) < 1e-3);
  assert.ok(Number.isNaN(signalToNoise(FLOATS.map(() => NaN), FLOATS)));
});
