/** Weights in the runtime's memory: from a file in parts, whatever these are. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { loadWeights } from "../../kokoro_tvm/web/runtime/weights.js";

const PAGE = 65536;
const LINE = 64; // bytes that a tensor begins on a multiple of
const FLOATS = Float32Array.from({ length: 50 }, (_, place) => place / 3);

/** Codes of 9 bits of two taps of a channel, which F(2, 2) has three points of. */
const QUANTIZED = { bits: 9, shape: [1, 2, 1, 1], points: [[1, 0], [0.5, 0.5], [0, 1]] };
const CODES = Buffer.from([0, 0, 0, 64, 0x80, 0x7e, 0b10]); // the scale 2; 256 and 253, less 256
const WIDENED = [0, -3, -6];

/** A safetensors file: [name, dtype, values, how they are quantized] in order. */
function fileOf(...tensors) {
  const header = { __metadata__: {} };
  const parts = [];
  const quantized = {};
  let end = 0;
  for (const [name, dtype, values, described] of tensors) {
    const padded = Buffer.alloc(Math.ceil(values.byteLength / LINE) * LINE);
    padded.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    header[name] = { dtype, data_offsets: [end, (end += padded.length)] };
    if (described) quantized[name] = described;
    parts.push(padded);
  }
  header.__metadata__.quantized = JSON.stringify(quantized);
  const text = JSON.stringify(header);
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(padded.length));
  return Buffer.concat([size, padded, ...parts]);
}

async function* inParts(file, size) {
  for (let at = 0; at < file.length; at += size) yield new Uint8Array(file.subarray(at, at + size));
}

const SHAPES = { a: [50], b: [47], n: [1], q: [1, 3], r: [3] };

const component = (file, parameters, size = file.length) => ({
  weights: { file: "a.safetensors", size },
  parameters: parameters.map((name) => ({ name, dtype: name === "n" ? "int64" : "float32", shape: SHAPES[name] })),
});

async function load(file, parameters, { part = 1 << 20, memory = new WebAssembly.Memory({ initial: 1 }) } = {}) {
  const addresses = await loadWeights(memory, component(file, parameters), inParts(file, part));
  return { addresses, values: (place, count) => [...new Float32Array(memory.buffer, addresses[place], count)], memory };
}

test("loadWeights keeps the file's layout and the signature's order", async () => {
  const file = fileOf(["a", "F32", FLOATS], ["other", "F32", FLOATS], ["n", "I64", BigInt64Array.of(7n)], ["b", "F32", FLOATS.slice(3)]);
  for (const part of [1, 7, 100, 1 << 20]) {
    const { addresses, values, memory } = await load(file, ["b", "n", "a"], { part });
    assert.deepEqual(values(0, 47), [...FLOATS.slice(3)]);
    assert.deepEqual(values(2, 50), [...FLOATS]);
    assert.equal(new DataView(memory.buffer).getBigInt64(addresses[1], true), 7n);
    assert.deepEqual(addresses, [PAGE, PAGE + 192, PAGE + 256]);
    assert.equal(memory.buffer.byteLength, 2 * PAGE);
  }
});

test("loadWeights widens quantized weights", async () => {
  const file = fileOf(["r", "U8", CODES, QUANTIZED], ["n", "I64", BigInt64Array.of(9n)], ["a", "F32", FLOATS], ["q", "U8", CODES, QUANTIZED]);
  for (const part of [3, 1 << 20]) {
    const { addresses, values, memory } = await load(file, ["q", "n", "a", "r"], { part });
    for (const place of [0, 3]) assert.deepEqual(values(place, 3), WIDENED);
    assert.deepEqual(values(2, 50), [...FLOATS]);
    assert.equal(new DataView(memory.buffer).getBigInt64(addresses[1], true), 9n);
  }
});

test("loadWeights uses given room", async () => {
  const file = fileOf(["q", "U8", CODES, QUANTIZED], ["a", "F32", FLOATS]);
  for (const [size, expected] of [[320, 128], [319, 2 * PAGE]]) {
    const memory = new WebAssembly.Memory({ initial: 2 });
    const [first] = await loadWeights(memory, component(file, ["a", "q"]), inParts(file, 7), { start: 128, size });
    assert.equal(first, expected);
    assert.deepEqual([...new Float32Array(memory.buffer, first, 50)], [...FLOATS]);
    assert.deepEqual([...new Float32Array(memory.buffer, first + 256, 3)], WIDENED);
  }
});

test("loadWeights refuses a missing parameter, another file and a truncated one", async () => {
  const file = fileOf(["a", "F32", FLOATS]);
  await assert.rejects(load(file, ["b"]), { name: "BundleError", message: /^a\.safetensors has no b of F32/ });
  await assert.rejects(load(file, ["n"]), { message: /has no n of I64/ });
  await assert.rejects(load(Buffer.alloc(100, 255), ["a"]), { name: "BundleError", message: /no safetensors file/ });
  const damaged = Buffer.from(file);
  damaged[9] = 0;
  await assert.rejects(load(damaged, ["a"]), { name: "BundleError", message: /no safetensors file \(/ });
  const memory = new WebAssembly.Memory({ initial: 1 });
  for (const end of [20, file.length - 1]) {
    const begun = loadWeights(memory, component(file, ["a"]), inParts(file.subarray(0, end), 7));
    await assert.rejects(begun, { name: "BundleError", message: /is cut short/ });
  }
  for (const wrong of [{ ...QUANTIZED, bits: 20, shape: [1, 2, 20, 1] }, { ...QUANTIZED, points: Array(20).fill([1, 0]) }]) {
    await assert.rejects(load(fileOf(["q", "U8", CODES, wrong]), ["q"]), { name: "BundleError", message: /has no q of F32/ });
  }
});

test("loadWeights names the file if memory is refused", async () => {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 });
  const file = fileOf(["a", "F32", FLOATS]);
  await assert.rejects(load(file, ["a"], { memory }), { name: "MemoryError", message: /256 bytes for a\.safetensors/ });
});

test("loadWeights of 256 MB takes little more memory", { skip: process.platform !== "linux" }, () => {
  const program = `
    import { readFileSync } from "node:fs";
    import { Folder } from "./kokoro_tvm/web/runtime/folder.js";
    import { loadWeights } from "./kokoro_tvm/web/runtime/weights.js";
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf-8"))[1]) / 1024;
    const MB = 1 << 20;
    const tensors = Array.from({ length: 32 }, (_, at) => ["t" + at, { dtype: "F32", data_offsets: [8 * MB * at, 8 * MB * (at + 1)] }]);
    const header = Buffer.from(JSON.stringify(Object.fromEntries(tensors)).padEnd(4088));
    const count = Buffer.alloc(8);
    count.writeBigUInt64LE(BigInt(header.length));
    const folder = new Folder(async function* () {
      yield Buffer.concat([count, header]);
      for (let part = 0; part < 256; ++part) yield new Uint8Array(MB).fill(part);
    });
    const weights = { file: "a", size: 4096 + 256 * MB, sha256: "" };
    const memory = new WebAssembly.Memory({ initial: 1 });
    const before = peak();
    const component = { parameters: tensors.map(([name]) => ({ name, dtype: "float32", shape: [2 * MB] })), weights };
    const error = await loadWeights(memory, component, folder.parts(weights)).catch((caught) => caught.name);
    console.log(JSON.stringify({ error, grown: peak() - before }));
  `.replaceAll("./kokoro_tvm", new URL("../../kokoro_tvm", import.meta.url).href);
  const result = JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf-8" }));
  assert.equal(result.error, "BundleError"); // of the digest, which this test does not know: the last thing looked at
  assert.ok(result.grown < 256 + 64, `${result.grown} MB`);
});
