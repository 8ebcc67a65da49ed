/** What is tested without a front end's data: strings and patterns as Python has them, voices, joins. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { InputError } from "../../../kokoro_tvm/web/errors.js";
import * as py from "../../../kokoro_tvm/web/frontend/python.js";
import { fadeIn, fadeOut, mute } from "../../../kokoro_tvm/web/joins.js";
import { Voices, rowOf, styleOf } from "../../../kokoro_tvm/web/voices.js";

const found = (pattern, text, flags = "") => new py.Pattern(pattern, flags).findall(text);

test("classes are Unicode's", () => {
  assert.deepEqual(found("\\w+", "naïve 日本 a_1 ½"), ["naïve", "日本", "a_1", "½"]);
  assert.deepEqual(found("\\d+", "12 ٣٤ ²"), ["12", "٣٤"]);
  assert.deepEqual(found("\\S+", "a\x1cb\x85c\ufeffd"), ["a", "b", "c\ufeffd"]);
  assert.deepEqual(found("[^\\W\\d_]+", "ab_1é2"), ["ab", "é"]);
  assert.deepEqual(found("[^\\S\\n]", "a \n\t"), [" ", "\t"]);
  assert.deepEqual(found("[\\W_]", "a_-b"), ["_", "-"]);
  assert.deepEqual(found("[][a-c-]", "[d]-b"), ["[", "]", "-", "b"]);
  assert.deepEqual(found("\\bé\\w*\\b", "été, é"), ["été", "é"]);
});

test("an end is before a last line break too", () => {
  assert.ok(new py.Pattern("a$").search("a\n"));
  assert.equal(new py.Pattern("a$").search("a\n\n"), null);
  assert.equal(new py.Pattern("a").fullmatch("a\n"), null);
  assert.deepEqual(found("a.", "a\nab"), ["ab"]);
  assert.deepEqual(found("a.", "a\nab", "s"), ["a\n", "ab"]);
});

test("upper and lower case are alike as in Python", () => {
  assert.deepEqual(found("fig|vs|k", "FİG fıg Vſ \u212a", "i"), ["FİG", "fıg", "Vſ", "\u212a"]);
  assert.deepEqual(found("[a-c]+", "aBc", "i"), ["aBc"]);
});

test("what has no translation is an error", () => {
  assert.throws(() => found("(?>a)", "a"), /no translation/);
  assert.throws(() => found("(?i)a", "a"), /no translation/);
  assert.throws(() => found("\\G", "a"), /no translation/);
});

test("characters are counted as code points", () => {
  const text = "a😀b";
  assert.equal(py.length(text), 3);
  assert.equal(py.back(text, 4, 2), 1);
  assert.equal(py.forth(text, 0, 2), 3);
  assert.equal(py.charBefore(text, 3), "😀");
  assert.equal(py.head(text, 2), "a😀");
});

test("digits of every script have values", () => {
  assert.deepEqual([..."7٣²①𝟛"].map(py.digit), [7, 3, 2, 1, 3]);
  assert.equal(py.digit("½"), null);
  assert.equal(py.digit(""), null);
});

test("halves are rounded to the even number", () => {
  assert.deepEqual([0.5, 1.5, 2.5, 2.4, 2.6, -1.5].map(py.rint), [0, 2, 2, 2, 3, -2]);
});

test("a voice is found, mixed, or the nearest ones are named", async () => {
  const table = (value) => ({ rows: 2, width: 2, values: Float32Array.of(value, 0, 1, 2) });
  const voices = new Voices(new Map([["af_heart", table(0.1)], ["am_adam", table(0.2)], ["bf_emma", table(7)]]));
  const mixed = await voices.table("af_heart, am_adam");
  const [a, b] = Float32Array.of(0.1, 0.2);
  assert.equal(mixed.values[0], Math.fround(Math.fround(a + b) / 2));
  assert.deepEqual([...styleOf(mixed, rowOf(mixed, "abcdef"))], [1, 2]);
  assert.equal(rowOf(mixed, ""), 0);
  const message = "There is no voice 'af_hart' in this bundle. Nearest: af_heart.";
  await assert.rejects(voices.table("af_hart"), new InputError(message));
});

test("sound goes over into silence within 10 ms", () => {
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
