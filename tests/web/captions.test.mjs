import assert from "node:assert/strict";
import { test } from "node:test";
import { clock } from "../../kokoro_tvm/web/captions/clock.js";
import { cues } from "../../kokoro_tvm/web/captions/lines.js";
import { srt } from "../../kokoro_tvm/web/captions/srt.js";
import { webVtt } from "../../kokoro_tvm/web/captions/webvtt.js";
import { wordsWithMarks } from "../../kokoro_tvm/web/page/shown.js";
import { draws } from "./draws.mjs";

/** Words of letters in a text, a tenth of a second each and as much apart from each other. */
const timed = (text, gap = 0.1) =>
  [...text.matchAll(/[\p{L}\p{N}'’]+/gu)].map((found, place) => {
    const start = place * (0.1 + gap);
    return { start, end: start + 0.1, source: [found.index, found.index + found[0].length] };
  });
const shown = (text) => wordsWithMarks(text, timed(text)).map(({ text: each }) => each);

test("wordsShown attaches marks to words", () => {
  assert.deepEqual(shown('"Well," he said (so it is) — yes!'), ['"Well,"', "he", "said", "(so", "it", "is) —", "yes!"]);
  assert.deepEqual(shown("Half-done;  new\nline …"), ["Half-", "done;", "new", "line …"]);
  assert.deepEqual(wordsWithMarks("a-b c", timed("a-b c")).map(({ joined }) => joined), [false, true, false]);
  assert.deepEqual(shown(""), []);
});

test("cues contain every word once, in order, and are readable", () => {
  const draw = draws(8);
  for (let round = 0; round < 200; round++) {
    const count = 1 + draw.below(60);
    const text = Array.from({ length: count }, () => "x".repeat(1 + draw.below(12)) + draw.pick(["", "", "", ",", ".", "!\""])).join(" ");
    const words = wordsWithMarks(text, timed(text, draw.next() * 0.8));
    const result = cues(words);
    assert.deepEqual(result.flatMap(({ lines }) => lines.flat()), words);
    assert.equal(result.map(({ lines }) => lines.map((line) => line.map((each) => each.text).join(" ")).join(" ")).join(" "), text);
    for (const { start, end, lines } of result) {
      assert.ok(lines.length <= 2 && end > start && (end - start <= 7 || lines.flat().length === 1));
      for (const line of lines) assert.ok(line.length === 1 || line.map((each) => each.text).join(" ").length <= 42);
    }
  }
});

test("cues take linear time for a text without marks", () => {
  const text = "word ".repeat(20_000);
  assert.equal(cues(wordsWithMarks(text, timed(text, 0))).flatMap(({ lines }) => lines.flat()).length, 20_000);
});

test("writeSrt numbers cues", () => {
  const text = "Hello, world. <Tom & I> are here.";
  assert.equal(
    srt(wordsWithMarks(text, timed(text))),
    "1\n00:00:00,000 --> 00:00:00,300\nHello, world.\n\n2\n00:00:00,400 --> 00:00:01,100\n<Tom & I> are here.\n",
  );
});

test("writeWebVtt writes the time of every word", () => {
  const text = "Hello, world. <Tom & I>";
  assert.equal(
    webVtt(wordsWithMarks(text, timed(text))),
    "WEBVTT\n\n00:00:00.000 --> 00:00:00.300\nHello, <00:00:00.200>world.\n\n" +
      "00:00:00.400 --> 00:00:00.700\n&lt;Tom &amp; <00:00:00.600>I&gt;\n",
  );
});

test("clock formats hours beyond 99", () => {
  assert.equal(clock(0, ","), "00:00:00,000");
  assert.equal(clock(3661.0015, "."), "01:01:01.002");
  assert.equal(clock(360000, "."), "100:00:00.000");
});
