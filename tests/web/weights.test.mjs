/** Weights in the runtime's memory: from a file in parts, whatever these are. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { loadWeights } from "../../kokoro_tvm/web/runtime/weights.js";

const PAGE = 65536;
const FLOATS = Float32Array.from({ length: 50 }, (_, place) => place / 3);
const HALVES = { bits: Uint16Array.of(0x3c00, 0xc000, 0x0001), values: [1, -2, 2 ** -24] };

/** A safetensors file: [name, dtype, values] in order. */
function fileOf(...tensors) {
  const header = {};
  let end = 0;
  for (const [name, dtype, values] of tensors) {
    header[name] = { dtype, shape: [values.length], data_offsets: [end, (end += values.byteLength)] };
  }
  const text = JSON.stringify(header);
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(padded.length));
  return Buffer.concat([size, padded, ...tensors.map(([, , values]) => Buffer.from(values.buffer))]);
}

async function* inParts(file, size) {
  for (let at = 0; at < file.length; at += size) yield new Uint8Array(file.subarray(at, at + size));
}

const component = (file, parameters, size = file.length) => ({
  weights: { file: "a.safetensors", size },
  parameters: parameters.map((name) => ({ name, dtype: name === "n" ? "int64" : "float32" })),
});

async function load(file, parameters, { part = 1 << 20, memory = new WebAssembly.Memory({ initial: 1 }) } = {}) {
  const addresses = await loadWeights(memory, component(file, parameters), inParts(file, part));
  return { addresses, values: (place, count) => [...new Float32Array(memory.buffer, addresses[place], count)], memory };
}

test("parameters are where the file has them, in the order of the signature", async () => {
  const file = fileOf(["a", "F32", FLOATS], ["other", "F32", FLOATS], ["n", "I64", BigInt64Array.of(7n)], ["b", "F32", FLOATS.slice(3)]);
  for (const part of [1, 7, 100, 1 << 20]) {
    const { addresses, values, memory } = await load(file, ["b", "n", "a"], { part });
    assert.deepEqual(values(0, 47), [...FLOATS.slice(3)]);
    assert.deepEqual(values(2, 50), [...FLOATS]);
    assert.equal(new DataView(memory.buffer).getBigInt64(addresses[1], true), 7n);
    assert.equal(addresses[2], PAGE);
    assert.equal(memory.buffer.byteLength, 2 * PAGE);
  }
});

test("what is stored as float16 is float32 in memory, between what is not", async () => {
  const file = fileOf(["h", "F16", HALVES.bits], ["n", "I64", BigInt64Array.of(9n)], ["g", "F16", HALVES.bits.slice(1)], ["a", "F32", FLOATS], ["k", "F16", HALVES.bits]);
  for (const part of [3, 1 << 20]) {
    const { addresses, values, memory } = await load(file, ["h", "n", "g", "a", "k"], { part });
    for (const place of [0, 4]) assert.deepEqual(values(place, 3), HALVES.values);
    assert.deepEqual(values(2, 2), HALVES.values.slice(1));
    assert.deepEqual(values(3, 50), [...FLOATS]);
    assert.equal(new DataView(memory.buffer).getBigInt64(addresses[1], true), 9n);
  }
});

test("a large part of halves reads nothing that was overwritten", async () => {
  const bits = Uint16Array.from({ length: 200_000 }, (_, place) => place % 0x7c00);
  const file = fileOf(["h", "F16", bits], ["a", "F32", FLOATS]);
  const { values } = await load(file, ["h", "a"]);
  const alone = await load(fileOf(["h", "F16", bits.slice(-5)]), ["h"]);
  assert.deepEqual(values(0, bits.length).slice(-5), alone.values(0, 5));
  assert.deepEqual(values(1, 50), [...FLOATS]);
});

test("room that is large enough is taken, in place of more memory", async () => {
  const file = fileOf(["h", "F16", HALVES.bits], ["a", "F32", FLOATS]);
  for (const [size, expected] of [[212, 128], [211, 2 * PAGE]]) {
    const memory = new WebAssembly.Memory({ initial: 2 });
    const [first] = await loadWeights(memory, component(file, ["h", "a"]), inParts(file, 7), { start: 128, size });
    assert.equal(first, expected);
    assert.deepEqual([...new Float32Array(memory.buffer, first, 53)], [...HALVES.values, ...FLOATS]);
  }
});

test("a file that lacks a parameter, is none, or ends early is refused", async () => {
  const file = fileOf(["a", "F32", FLOATS]);
  await assert.rejects(load(file, ["b"]), { name: "BundleError", message: /^a\.safetensors has no b of F32/ });
  await assert.rejects(load(file, ["n"]), { message: /has no n of I64/ });
  await assert.rejects(load(Buffer.alloc(100, 255), ["a"]), { name: "BundleError", message: /no safetensors file/ });
  const damaged = Buffer.from(file);
  damaged[9] = 0;
  await assert.rejects(load(damaged, ["a"]), { name: "BundleError", message: /no safetensors file \(/ });
  await assert.rejects(load(file.subarray(0, 20), ["a"]), { name: "BundleError" });
});

test("memory that is refused says for which file", async () => {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 });
  const file = fileOf(["a", "F32", FLOATS]);
  await assert.rejects(load(file, ["a"], { memory }), { name: "MemoryError", message: /200 bytes for a\.safetensors/ });
});

test("256 MB of weights take 256 MB, and little more on their way", { skip: process.platform !== "linux" }, () => {
  const program = `
    import { readFileSync } from "node:fs";
    import { Folder } from "./kokoro_tvm/web/runtime/folder.js";
    import { loadWeights } from "./kokoro_tvm/web/runtime/weights.js";
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf-8"))[1]) / 1024;
    const MB = 1 << 20;
    const header = Buffer.from(JSON.stringify({ a: { dtype: "F32", data_offsets: [0, 256 * MB] } }).padEnd(56));
    const count = Buffer.alloc(8);
    count.writeBigUInt64LE(BigInt(header.length));
    const folder = new Folder(async function* () {
      yield Buffer.concat([count, header]);
      for (let part = 0; part < 256; ++part) yield new Uint8Array(MB).fill(part);
    });
    const weights = { file: "a", size: 64 + 256 * MB, sha256: "" };
    const memory = new WebAssembly.Memory({ initial: 1 });
    const before = peak();
    const component = { parameters: [{ name: "a", dtype: "float32" }], weights };
    const error = await loadWeights(memory, component, folder.parts(weights)).catch((caught) => caught.name);
    console.log(JSON.stringify({ error, grown: peak() - before }));
  `.replaceAll("./kokoro_tvm", new URL("../../kokoro_tvm", import.meta.url).href);
  const found = JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf-8" }));
  assert.equal(found.error, "BundleError"); // of the digest, which this test does not know: the last thing looked at
  assert.ok(found.grown < 256 + 64, `${found.grown} MB`);
});
