import assert from "node:assert/strict";
import { test } from "node:test";
import { boundSpeed } from "../../kokoro_tvm/web/completing.js";
import { Plan } from "../../kokoro_tvm/web/plan.js";
import { Planner } from "../../kokoro_tvm/web/planner.js";
import { Voices, describe, languagesOf, styleOf } from "../../kokoro_tvm/web/voices.js";

test("styleOf copies a row", () => {
  const table = { rows: 3, width: 2, values: Float32Array.of(0, 1, 2, 3, 4, 5) };
  const row = styleOf(table, 1);
  assert.deepEqual([...row], [2, 3]);
  assert.equal(row.buffer.byteLength, row.byteLength);
});

test("table refuses a mix without a voice left, as Python", async () => {
  const table = { rows: 1, width: 2, values: Float32Array.of(1, 2) };
  const voices = new Voices(new Map([["a", table], ["b", table]]));
  for (const mix of ["a-a", "a-b", "a(1.01)-b", "a-b(3)"]) {
    await assert.rejects(voices.table(mix), { message: /^This mix takes away nearly all that it adds, and no voice / });
  }
  assert.equal((await voices.table("a(3)-b(2)")).rows, 1);
});

test("table is read at its first use, once", async () => {
  const header = JSON.stringify({ a: { dtype: "F32", shape: [3, 2], data_offsets: [0, 24] }, b: { dtype: "F32", shape: [2], data_offsets: [24, 32] } });
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(header.length));
  const file = Buffer.concat([size, Buffer.from(header), Buffer.from(Float32Array.of(0, 1, 2, 3, 4, 5, 6, 7).buffer)]);
  const ranges = [];
  const bytes = async (begin, end) => (ranges.push([begin - 8 - header.length, end - begin]), new Uint8Array(file.subarray(begin, end)));
  const voices = await Voices.open(bytes, 2);
  assert.deepEqual(voices.names, ["a", "b"]);
  ranges.length = 0;
  for (let time = 0; time < 2; ++time) assert.deepEqual(await voices.table("b"), { rows: 1, width: 2, values: Float32Array.of(6, 7) });
  assert.deepEqual(ranges, [[24, 8]]);
  assert.deepEqual([...(await voices.table("a,b")).values], [3, 4, 4, 5, 5, 6]);
  await assert.rejects(Voices.open(bytes, 3), { name: "BundleError", message: /^The voice b is \(2\), not float32 rows of 3/ });
});

test("table is shared by concurrent calls, and read again after a failure", async () => {
  let reads = 0;
  const read = async () => {
    if (!reads++) throw new Error("offline");
    return { rows: 1, width: 2, values: Float32Array.of(1, 2) };
  };
  const voices = new Voices(new Map([["a", read]]));
  await assert.rejects(voices.table("a"), { message: "offline" });
  const [one, other] = await Promise.all([voices.table("a"), voices.table("a")]);
  assert.equal(one, other);
  assert.equal(reads, 2);
});

test("plan accepts a seed of 64 bits", () => {
  for (const seed of [2n ** 64n, -1n, 2n ** 70n, 1.5, null]) {
    assert.throws(() => new Plan({ pieces: [], voice: "a", seed }), { message: /^The seed should be a BigInt from 0n/ });
  }
  const { seed } = new Plan({ pieces: [], voice: "a", seed: 2n ** 64n - 1n });
  assert.equal(seed, 2n ** 64n - 1n);
});

test("plan notices an extreme speed", async () => {
  const table = { rows: 1, width: 2, values: Float32Array.of(1, 2) };
  const model = { vocabulary: new Map([["a", 1]]), predict: async () => null, sampleRate: 24000, samplesPerFrame: 600 };
  const planner = new Planner(model, new Voices(new Map([["af_a", table]])), null);
  for (const [speed, noted] of [[0.2, true], [0.25, false], [4, false], [4.5, true]]) {
    const notices = [];
    const options = { voice: "af_a", speed, division: null, pauses: null, warn: (notice) => notices.push(notice) };
    await planner.planPhonemes("a", options).catch(() => null);
    const due = `Speed ${speed} is beyond what the model can say, 0.25 to 4: sounds are lost or drawn out.`;
    assert.deepEqual(notices, noted ? [due] : []);
  }
});

test("languagesOf and Voices use the bundle's languages", async () => {
  const table = { rows: 1, width: 2, values: Float32Array.of(1, 2) };
  const voices = new Voices(new Map([["bernd", table], ["anna", table]]));
  const languages = languagesOf({ d: { name: "German", espeak: "de" } });
  const model = { vocabulary: new Map([["ä", 1]]), predict: async () => null, sampleRate: 24000, samplesPerFrame: 600 };
  const planner = new Planner(model, voices, null, languages);
  const notices = [];
  const options = { warn: (notice) => notices.push(notice) };
  assert.equal(planner.empty(options).voice, "anna");
  await assert.rejects(planner.plan("Hi.", { ...options, lang: "a" }), { message: "There is no language 'a'. Choose one of d (German)." });
  assert.deepEqual(notices, []);
  assert.deepEqual(describe("anna", languages), { name: "anna", code: "d", language: "German", gender: "unknown" });
  assert.equal(languagesOf(null).z, "Mandarin Chinese");
});

test("split refuses more than 16 voices, as Python", async () => {
  const table = { rows: 1, width: 2, values: Float32Array.of(1, 2) };
  const voices = new Voices(new Map([["a", table]]));
  assert.deepEqual([...(await voices.table(Array(16).fill("a").join("+"))).values], [1, 2]);
  await assert.rejects(voices.table(Array(17).fill("a").join("+")), { message: /^A mix may have 16 voices, but this one has 17/ });
});

test("boundSpeed limits a rate", () => {
  assert.deepEqual([boundSpeed(0.25, 0.1), boundSpeed(1, 0.1), boundSpeed(4, 10)], [0.25, 0.25, 4]);
  assert.deepEqual([boundSpeed(0.1, 1), boundSpeed(8, 1), boundSpeed(1, 1.5)], [0.1, 8, 1.5]);
});
