import assert from "node:assert/strict";
import { test } from "node:test";
import { SampleQueue } from "../../kokoro_tvm/web/page/worklet.js";
import { draws } from "./draws.mjs";

const BLOCK = 128;
const ramp = (count) => Float32Array.from({ length: count }, (_, place) => place + 1);
/** Samples that went out of it as they came in, without the silence and the fading. */
const heard = (queue) => {
  const block = new Float32Array(BLOCK);
  const before = queue.played;
  queue.pull(block);
  return [...block.subarray(0, queue.played - before)];
};

test("pull returns the pushed samples in order", () => {
  const draw = draws(3);
  for (let round = 0; round < 200; round++) {
    const whole = ramp(draw.below(3000));
    const pieces = draw.pieces(whole, 700);
    const queue = new SampleQueue(draw.below(600));
    const out = [];
    while (!queue.ended) {
      if (pieces.length && draw.next() < 0.4) queue.push(pieces.shift());
      if (!pieces.length) queue.finish();
      if (draw.next() < 0.1) queue.paused = !queue.paused;
      out.push(...heard(queue));
    }
    assert.deepEqual(out, [...whole]);
    assert.equal(queue.played, whole.length);
    assert.equal(queue.queued, 0);
  }
});

test("pull waits for the prebuffer, also after a gap, but not at the end", () => {
  const queue = new SampleQueue(300);
  queue.push(ramp(299));
  assert.equal(heard(queue).length, 0);
  queue.push(ramp(1));
  assert.deepEqual([128, 128, 44, 0].map(() => heard(queue).length), [128, 128, 44, 0]);
  assert.equal(queue.gaps, 1);
  queue.push(ramp(10));
  assert.equal(heard(queue).length, 0);
  queue.finish();
  assert.equal(heard(queue).length, 10);
  assert.ok(queue.ended);
  assert.equal(queue.gaps, 1, "an end is no gap");
});

test("pull fades sound that breaks off", () => {
  const queue = new SampleQueue(0);
  queue.push(new Float32Array(BLOCK).fill(0.5));
  const block = new Float32Array(BLOCK);
  queue.pull(block);
  queue.pull(block);
  assert.ok(block[0] > 0.45 && block[0] < 0.5);
  assert.ok(block.every((sample, place) => !place || sample <= block[place - 1]));
  assert.equal(block[BLOCK - 1], 0);
});

test("clear starts a new queue", () => {
  const queue = new SampleQueue(0);
  queue.push(ramp(500));
  heard(queue);
  queue.finish();
  queue.clear();
  assert.deepEqual([queue.queued, queue.played, queue.ended, queue.flowing], [0, 0, false, false]);
  queue.push(ramp(3));
  assert.deepEqual(heard(queue), [1, 2, 3]);
});
