import assert from "node:assert/strict";
import { test } from "node:test";
import { Playhead } from "../../kokoro_tvm/web/page/playhead.js";
import { SampleQueue } from "../../kokoro_tvm/web/page/worklet.js";
import { draws } from "./draws.mjs";

const [BLOCK, RATE] = [128, 24000];

/**
 * A device on a busy machine: sound runs dry, and its reports reach the page `delay` blocks late at most.
 *
 * @returns {{place: number, heard: number, sent: number}[]} after every block
 */
function watched({ draw, length, latency, delay, portion }) {
  const [queue, head] = [new SampleQueue(draw.below(2000)), new Playhead()];
  const moments = [];
  const reports = [];
  const played = [];
  let news = "";
  let [sent, report] = [0, { played: 0, flowing: false, at: 0 }];
  head.begin(0);
  for (let block = 0, after = 0; after < 400; block++) {
    const now = (block * BLOCK) / RATE;
    if (sent < length && draw.next() < 0.05) {
      const count = Math.min(1 + draw.below(portion), length - sent);
      queue.push(new Float32Array(count));
      sent += count;
      if (sent === length) queue.finish();
    }
    queue.pull(new Float32Array(BLOCK));
    played.push(queue.played);
    if (queue.ended) after += 1;
    if ((block % 8 === 0 || queue.ended) && news !== (news = `${queue.played} ${queue.flowing}`)) {
      reports.push({ due: block + draw.below(delay + 1), played: queue.played, flowing: queue.flowing, at: now });
    }
    while (reports.length && reports[0].due <= block) report = reports.shift();
    const heard = played[block - Math.ceil((latency * RATE) / BLOCK)] ?? 0;
    moments.push({ place: head.place(report, now, latency, sent, RATE), heard, sent });
  }
  return moments;
}

test("place never decreases, stays below the sent samples, and reaches the end", () => {
  const draw = draws(5);
  for (let round = 0; round < 200; round++) {
    const length = 3000 + draw.below(20000);
    const case_ = { draw, length, latency: draw.next() / 4, delay: draw.below(60), portion: 500 + draw.below(9000) };
    const moments = watched(case_);
    for (const [place, { place: here, sent }] of moments.entries()) {
      assert.ok(here <= sent);
      assert.ok(!place || here >= moments[place - 1].place, `round ${round}, block ${place}`);
    }
    assert.equal(Math.round(moments.at(-1).place), length);
  }
});

test("place is exact while sound flows and reports are in time", () => {
  for (const latency of [0, 0.02, 0.2]) {
    const moments = watched({ draw: draws(7), length: 30000, latency, delay: 0, portion: 30000 });
    for (const { place, heard } of moments) assert.ok(Math.abs(place - heard) <= 10 * BLOCK, `${place}, ${heard}`);
  }
});

test("begin may go back", () => {
  const head = new Playhead();
  head.begin(5000);
  const flowing = { played: 2400, flowing: true, at: 1 };
  assert.equal(Math.round(head.place(flowing, 1.1, 0, 20000, RATE)), 9800);
  head.begin(100);
  assert.equal(head.place({ played: 0, flowing: false, at: 1.1 }, 1.2, 0, 20000, RATE), 100);
});
