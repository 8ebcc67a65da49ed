/** Voices of one's own: what Python writes in every form is read, and what is no voice is refused in words. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { bytesOfVoice, readVoices } from "../../kokoro_tvm/web/voice_files.js";
import { Voices } from "../../kokoro_tvm/web/voices.js";

const WIDTH = 4;
const ONE = { rows: 1, width: WIDTH, values: Float32Array.of(1, -2, 0.5, 0.25) };

/** A folder that `test_voice_files_web.py` fills: NAME.SUFFIX of the table NAME.json, and bad/MESSAGE.SUFFIX. */
const FOLDER = process.env.VOICE_FILES;

test("readVoices matches Python for every format", { skip: !FOLDER }, async () => {
  const expected = JSON.parse(readFileSync(`${FOLDER}/tables.json`, "utf-8"));
  const files = readdirSync(`${FOLDER}/good`);
  assert.equal(files.length, 11);
  for (const file of files) {
    const result = await readVoices(file, new Uint8Array(readFileSync(`${FOLDER}/good/${file}`)), WIDTH);
    const tables = [...result].map(([name, { rows, values }]) => [name, rows, [...values]]);
    assert.deepEqual(tables, expected[file], file);
  }
});

test("readVoices refuses in Python's words", { skip: !FOLDER }, async () => {
  const expected = JSON.parse(readFileSync(`${FOLDER}/messages.json`, "utf-8"));
  for (const file of readdirSync(`${FOLDER}/bad`)) {
    const data = new Uint8Array(readFileSync(`${FOLDER}/bad/${file}`));
    await assert.rejects(readVoices(file, data, WIDTH), { name: "InputError", message: expected[file] });
  }
});

test("bytesOfVoice refuses a large file before reading it", async () => {
  const file = { name: "huge.bin", size: 2 ** 31, arrayBuffer: () => assert.fail("it was read") };
  await assert.rejects(bytesOfVoice(file), { message: /^The voice huge\.bin has 2147 MB, .* It was not read\.$/ });
  await assert.rejects(bytesOfVoice({ name: "voice.mp3", size: 1 }), { message: /^voice\.mp3 is no file of a voice: these end in \.pt, / });
});

test("joined refuses an existing name and a distant row", async () => {
  const voices = new Voices(new Map([["af_heart", ONE]]));
  const scaled = (factor) => ({ ...ONE, values: ONE.values.map((value) => factor * value) });
  await assert.rejects(voices.joined(new Map([["af_heart", ONE]])), { message: /^There is a voice af_heart already/ });
  for (const factor of [0, 1e9, 4.1, 0.24]) {
    await assert.rejects(voices.joined(new Map([["mine", scaled(factor)]])), { message: /^The voice mine is far from all/ });
  }
  const joined = await voices.joined(new Map([["mine", scaled(2)]]));
  assert.deepEqual(joined.names, ["af_heart", "mine"]);
  assert.deepEqual([...(await joined.table("mine(2)+af_heart(2)")).values], [1.5, -3, 0.75, 0.375]);
});
