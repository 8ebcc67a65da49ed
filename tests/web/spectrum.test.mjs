import assert from "node:assert/strict";
import { test } from "node:test";
import { levels, ROWS, SLICE } from "../../kokoro_tvm/web/page/spectrum.js";

const RATE = 24000;
const go = async () => true;

function speech(samples) {
  return { length: samples.length, read: (start, count) => samples.slice(start, start + count) };
}

function tone(frequency, seconds, loudness = 0.5) {
  return Float32Array.from({ length: RATE * seconds }, (_, place) => loudness * Math.sin((2 * Math.PI * frequency * place) / RATE));
}

test("levels peak at a tone's frequency", async () => {
  for (const frequency of [50, 1000, 5003, 11950]) {
    const result = await levels(speech(tone(frequency, 1, 0.02)), 20, go);
    for (let column = 0; column < 20; column++) {
      const heights = Array.from({ length: ROWS }, (_, row) => result[row * 20 + column]);
      const row = heights.indexOf(Math.max(...heights));
      const width = RATE / 2 / ROWS;
      assert.ok(Math.abs((ROWS - 1 - row + 0.5) * width - frequency) <= width, `${frequency} Hz: row ${row}`);
      assert.ok(heights.filter((height) => height > 100).length < 12);
    }
  }
});

test("levels are 0 for silence and 6 dB lower for half the amplitude", async () => {
  assert.ok((await levels(speech(new Float32Array(RATE)), 9, go)).every((level) => level === 0));
  const [loud, quiet] = await Promise.all([0.02, 0.01].map((size) => levels(speech(tone(1500, 1, size)), 1, go)));
  assert.ok(Math.abs(Math.max(...loud) - Math.max(...quiet) - (255 * 6.02) / 70) <= 1);
});

test("levels put later sound further right", async () => {
  const samples = new Float32Array(RATE);
  samples.set(tone(3000, 0.5), RATE / 2);
  const result = await levels(speech(samples), 10, go);
  const loudest = (column) => Math.max(...Array.from({ length: ROWS }, (_, row) => result[row * 10 + column]));
  assert.deepEqual([0, 1, 2, 3].map(loudest), [0, 0, 0, 0]);
  assert.ok([6, 7, 8, 9].every((column) => loudest(column) === 255));
});

test("levels pauses after every slice, and ends on request", async () => {
  let reads = 0;
  let since = 0;
  const counted = { length: RATE, read: (start, count) => (reads++, since++, new Float32Array(count)) };
  let pauses = 0;
  const pause = async () => {
    assert.ok(since <= SLICE);
    since = 0;
    return ++pauses < 3;
  };
  assert.equal(await levels(counted, 10 * SLICE, pause), null);
  assert.equal(reads, 3 * SLICE);
});

test("levels accepts a short or empty speech", async () => {
  for (const length of [0, 1, 500]) assert.equal((await levels(speech(new Float32Array(length)), 3, go)).length, 3 * ROWS);
});
