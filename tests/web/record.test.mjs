import assert from "node:assert/strict";
import { test } from "node:test";
import { sentenceStart } from "../../kokoro_tvm/web/alignment.js";
import { Record } from "../../kokoro_tvm/web/page/record.js";
import { bars } from "../../kokoro_tvm/web/page/wave.js";
import { draws } from "./draws.mjs";

const NOTHING = new Float32Array(0);
const RATE = 1000;
const word = (text, start) => ({ word: text, start, end: start + 0.1 });

test("read returns the appended samples", () => {
  const draw = draws(4);
  const whole = Float32Array.from({ length: 5000 }, () => Math.fround(draw.next() - 0.5));
  const record = new Record("", RATE);
  for (const audio of draw.pieces(whole, 300)) record.append({ audio, words: [] });
  assert.equal(record.length, whole.length);
  for (let round = 0; round < 200; round++) {
    const [start, count] = [draw.below(5200), draw.below(900)];
    assert.deepEqual(record.read(start, count), whole.slice(start, start + count));
  }
  for (const [bin, size] of record.outline.entries()) {
    assert.equal(size, Math.max(...whole.slice(10 * bin, 10 * bin + 10).map(Math.abs)));
  }
});

test("append finds places of words in order, or none", () => {
  const record = new Record("The cat, the **cat** and the dog", RATE);
  const words = ["The", "cat", "the", "cat", "and", "bird", "the", "dog"].map((text, place) => word(text, place));
  const placed = record.append({ audio: NOTHING, words });
  assert.deepEqual(
    placed.map(({ source }) => source && record.text.slice(...source)),
    ["The", "cat", "the", "cat", "and", null, "the", "dog"],
  );
  assert.deepEqual(placed[3].source, [15, 18]);
});

test("append skips marks, and a divided word has one place", () => {
  const record = new Record("In 1984, they said. And 1984 again.", RATE);
  const words = ["In", "1984", "1984", ",", "they", "said", ".", "And", "1984", "1984", "again", "."].map((text, place) => word(text, place));
  const placed = record.append({ audio: NOTHING, words });
  assert.deepEqual(
    placed.map(({ source }) => source && source[0]),
    [0, 3, null, 9, 14, 20, 24, null, 29],
  );
});

test("append uses the synthesizer's places", () => {
  const record = new Record("$5 and five", RATE);
  const [five] = record.append({ audio: NOTHING, words: [{ word: "five dollars", start: 0, end: 1, source: [0, 2] }] });
  assert.deepEqual(five.source, [0, 2]);
});

test("append maps the synthesizer's places after a cut", () => {
  const record = new Record("A cat. A dog.", RATE);
  const at = (text, start, ...source) => ({ ...word(text, start), source });
  record.append({ audio: new Float32Array(2000), words: [at("A", 0, 0, 1), at("cat", 1, 2, 5)] });
  record.cut(2, 7);
  const placed = record.append({ audio: NOTHING, words: [at("A", 0, 0, 1), at("dog", 1, 2, 5)] });
  assert.deepEqual(placed.map(({ source }) => record.text.slice(...source)), ["A", "dog"]);
  assert.deepEqual(placed[1].source, [9, 12]);
});

test("wordAt returns the last word that has begun", () => {
  const record = new Record("", RATE);
  record.append({ audio: NOTHING, words: [word("a", 0.5), word("b", 1), word("c", 2)] });
  assert.deepEqual([0, 0.5, 0.9, 1, 1.9, 2, 9].map((at) => record.wordAt(at)), [-1, 0, 0, 1, 1, 2, 2]);
});

test("cut continues at a word", () => {
  const text = "One two. Three four.";
  const record = new Record(text, RATE);
  const words = ["One", "two", "Three", "four"].map((item, place) => word(item, place));
  record.append({ audio: new Float32Array(4000).fill(0.5), words });
  record.done = record.complete = true;
  assert.equal(record.share, 1);
  assert.equal(record.cut(2, 9), 2000);
  assert.deepEqual([record.length, record.outline.length, record.done, record.complete], [2000, 200, false, false]);
  assert.equal(record.share, 9 / text.length);
  const [three] = record.append({ audio: new Float32Array(500), words: [word("Three", 0.25)] });
  assert.deepEqual([three.start, three.source], [2.25, [9, 14]]);
  assert.deepEqual([record.words.length, record.length], [3, 2500]);
});

test("sentenceStart returns the beginning of a sentence", () => {
  const text = 'He said: "Stop it!" Nobody did.\nA line 心です。次の文';
  const start = (of) => text.slice(sentenceStart(text, text.indexOf(of)));
  assert.ok(start("Stop").startsWith("He said"));
  assert.ok(start("did").startsWith("Nobody"));
  assert.ok(start("line").startsWith("A line"));
  assert.ok(start("の").startsWith("次"));
  assert.equal(sentenceStart(text, 0), 0);
});

test("bars returns maxima, and 0 without samples", () => {
  assert.deepEqual(bars([1, 2, 3, 4], 4, 0.5), [2, 4, 0, 0]);
  assert.deepEqual(bars([1], 4, 1), [1, 0, 0, 0]);
  assert.deepEqual(bars([], 3, 0), [0, 0, 0]);
});

test("total estimates the whole speech by the share of the text whose audio is there", () => {
  const record = new Record("One two three four", RATE);
  assert.equal(record.total, 0);
  record.append({ audio: NOTHING, words: [word("One", 0), word("two", 1)] });
  assert.equal(record.share, 0); // the words come before their audio
  record.append({ audio: new Float32Array(2000), words: [] });
  assert.equal(record.share, 7 / 18);
  assert.equal(record.total, 2 / (7 / 18));
  record.append({ audio: NOTHING, words: [word("three", 2)] });
  assert.equal(record.total, 2 / (7 / 18));
  record.done = true;
  assert.equal(record.total, record.seconds);
});

test("total continues after a cut", () => {
  const record = new Record("A cat. A dog.", RATE);
  record.append({ audio: NOTHING, words: [word("A", 0), word("cat", 1), word("A", 2), word("dog", 3)] });
  record.append({ audio: new Float32Array(4000), words: [] });
  record.cut(2, 7);
  assert.equal(record.seconds, 2);
  assert.equal(record.total, 2 / (7 / 13));
});
