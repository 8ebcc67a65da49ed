/** Characters as Python has them, voices, joins. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { InputError } from "../../kokoro_tvm/web/errors.js";
import * as py from "../../kokoro_tvm/web/characters.js";
import { fadeIn, fadeOut, mute } from "../../kokoro_tvm/web/joins.js";
import { Voices, rowOf, styleOf } from "../../kokoro_tvm/web/voices.js";

test("length counts code points", () => {
  const text = "a😀b";
  assert.equal(py.length(text), 3);
  assert.equal(py.head(text, 2), "a😀");
});

test("isSpace matches Python", () => {
  assert.deepEqual(py.split(" a\x1cb\x85c\ufeffd\u3000"), ["a", "b", "c\ufeffd"]);
  assert.equal(py.strip("\x1f a b\u2029"), "a b");
});

test("rint rounds halves to even", () => {
  assert.deepEqual([0.5, 1.5, 2.5, 2.4, 2.6, -1.5].map(py.rint), [0, 2, 2, 2, 3, -2]);
});

test("voices finds names and mixes, and names the nearest ones", async () => {
  const table = (value) => ({ rows: 2, width: 2, values: Float32Array.of(value, 0, 1, 2) });
  const voices = new Voices(new Map([["af_heart", table(0.1)], ["am_adam", table(0.2)], ["bf_emma", table(7)]]));
  const mixed = await voices.table("af_heart, am_adam");
  const [a, b] = Float32Array.of(0.1, 0.2);
  assert.equal(mixed.values[0], Math.fround(Math.fround(a + b) / 2));
  assert.deepEqual([...styleOf(mixed, rowOf(mixed, 6))], [1, 2]);
  assert.equal(rowOf(mixed, 0), 0);
  const message = "There is no voice 'af_hart' in this bundle. Nearest: af_heart.";
  await assert.rejects(voices.table("af_hart"), new InputError(message));
});

test("fades last 10 ms", () => {
  const audio = new Float32Array(1000).fill(1);
  fadeIn(audio, 24_000);
  fadeOut(audio, 24_000);
  const rising = audio.slice(0, 240);
  assert.equal(rising[0], 0);
  assert.ok(rising.every((value, place) => !place || value > rising[place - 1]));
  assert.deepEqual(audio.slice(240, 760), new Float32Array(520).fill(1));
  assert.deepEqual(audio.slice(760).reverse(), rising);

  const muted = new Float32Array(3000).fill(1);
  mute(muted, [[0, 500], [1000, 2000], [2900, 3000]], 24_000);
  assert.deepEqual(muted.slice(0, 260), new Float32Array(260));
  assert.deepEqual(muted.slice(260, 500), rising);
  assert.deepEqual(muted.slice(500, 1000), new Float32Array(500).fill(1));
  assert.deepEqual(muted.slice(1000, 1240).reverse(), rising);
  assert.deepEqual(muted.slice(1240, 1760), new Float32Array(520));
  assert.deepEqual(muted.slice(1760, 2000), rising);
  assert.deepEqual(muted.slice(2950), new Float32Array(50));
});
