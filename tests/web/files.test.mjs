import assert from "node:assert/strict";
import { test } from "node:test";
import { fileName } from "../../kokoro_tvm/web/page/saving.js";
import { fromBase64, PcmReader, wavFile } from "../../kokoro_tvm/web/wav.js";
import { draws } from "./draws.mjs";

test("PcmReader accepts bytes in any pieces", () => {
  const draw = draws(5);
  for (let round = 0; round < 200; round++) {
    const samples = Int16Array.from({ length: draw.below(200) }, () => draw.below(65536) - 32768);
    const bytes = new Uint8Array(samples.buffer);
    const reader = new PcmReader();
    const read = draw.pieces(bytes, 7).flatMap((piece) => [...reader.push(piece)]);
    assert.deepEqual(read, [...samples].map((sample) => sample / 32768));
  }
});

test("fromBase64 decodes", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, place) => place);
  assert.deepEqual(fromBase64(Buffer.from(bytes).toString("base64")), bytes);
});

test("wavFile writes samples and lengths", () => {
  const pieces = [Float32Array.of(0, 0.5, -1), Float32Array.of(2, -2, 1 / 32768)];
  const file = Buffer.concat(wavFile(pieces, 24000));
  assert.equal(file.length, 44 + 12);
  assert.equal(file.toString("latin1", 0, 4) + file.toString("latin1", 8, 16), "RIFFWAVEfmt ");
  assert.equal(file.readUInt32LE(4), file.length - 8);
  assert.deepEqual([file.readUInt32LE(24), file.readUInt32LE(28), file.readUInt32LE(40)], [24000, 48000, 12]);
  const samples = [0, 1, 2, 3, 4, 5].map((place) => file.readInt16LE(44 + 2 * place));
  assert.deepEqual(samples, [0, 16384, -32768, 32767, -32768, 1]);
});

test("fileName consists of the first words", () => {
  assert.equal(fileName("  ¿Qué hay, señor?/../x"), "qué-hay-señor-x");
  assert.equal(fileName("…"), "speech");
  assert.ok(fileName("word ".repeat(40)).length <= 41);
});
