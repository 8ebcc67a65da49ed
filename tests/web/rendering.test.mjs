/** Parts of an utterance: what the decoder gets, and which of its samples are heard. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { HALO_FRAMES } from "../../kokoro_tvm/web/numbers.js";
import { Piece, Plan, Word } from "../../kokoro_tvm/web/plan.js";
import { render } from "../../kokoro_tvm/web/rendering.js";
import { Model } from "../../kokoro_tvm/web/runtime/model.js";
import { timeline } from "../../kokoro_tvm/web/words.js";

const RATE = 4; // samples per frame
const word = (text, space, ...durations) => new Word({ text, start: 0, end: 2, phonemes: text, space, durations });
const words = [word("ab", " ", 30, 30, 2), word("cd", " ", 20, 20, 2), word("ef", "", 30, 30)];
const whole = new Piece({ words, lead: 10, tail: 10 });
const first = whole.with({ words: words.slice(0, 1), after: words.slice(1) });
const second = whole.with({ words: words.slice(1), before: words.slice(0, 1) });
const plan = (...pieces) => new Plan({ pieces, voice: "v", sampleRate: 100, samplesPerFrame: RATE, mute: false });
const table = { rows: 1, width: 2, values: new Float32Array(2) };

/** A bundle whose token features are 1, 2, ...; f0 of a frame is its feature, and audio is f0. */
const bundle = {
  manifest: { vocabulary: {}, sample_rate: 100, samples_per_frame: RATE, style_dim: 1 },
  largest: () => 1000,
  release: () => {},
  read: async ({ values }) => values,
  run(entry, length, ...inputs) {
    if (entry === "text_encoder") return [{ values: Float32Array.from({ length }, (_, i) => i + 1), shape: [1, 1, length] }];
    assert.equal(inputs[0].shape[2], length);
    if (entry === "f0n") {
      const curve = Float32Array.from({ length: 2 * length }, (_, half) => inputs[0].values[half >> 1]);
      return [{ values: curve, shape: [1, 2 * length] }, { values: curve, shape: [1, 2 * length] }];
    }
    const [asr, f0, noisiness] = inputs;
    assert.deepEqual(f0.values, noisiness.values);
    for (let frame = 0; frame < length; frame++) assert.equal(asr.values[frame], f0.values[2 * frame]);
    return [{ values: Float32Array.from({ length: RATE * length }, (_, i) => f0.values[(2 * i) / RATE | 0]) }];
  },
};
const features = { values: Float32Array.from({ length: 10 }, (_, i) => i + 1), shape: [1, 1, 10] };
const model = Object.assign(new Model(/** @type {any} */ (bundle)), {
  vocabulary: new Map([..."abcdef "].map((symbol, id) => [symbol, id + 1])),
});

test("parts join to the samples of the whole", async () => {
  const uncut = await render(model, table, plan(whole), whole, features);
  const [one, two] = [await render(model, table, plan(), first, features), await render(model, table, plan(), second, features)];
  assert.equal(one.length, first.samples(RATE));
  assert.equal(two.length, second.samples(RATE));
  assert.equal(one.length + two.length, uncut.length);
  const fade = 1; // 10 ms
  assert.deepEqual(one.slice(0, -fade), uncut.slice(0, one.length - fade));
  assert.deepEqual(two.slice(fade), uncut.slice(one.length + fade));
});

test("a window has frames beyond the cut", () => {
  const cut = 10 + 62 - 2 - 1; // one frame before the space
  assert.deepEqual(first.window(), [0, cut + HALO_FRAMES]);
  assert.deepEqual(second.window(), [cut - HALO_FRAMES, whole.frames]);
});

test("words of parts have the times of the whole", () => {
  const times = (pieces) => timeline(plan(...pieces)).map(({ text, startSample, endSample }) => [text, startSample, endSample]);
  const [uncut, cut] = [times([whole]), times([first, second])];
  assert.deepEqual(cut.map(([text]) => text), ["ab", "cd", "ef"]);
  assert.deepEqual(cut[2], uncut[2]);
});

test("a plan's JSON keeps the context", () => {
  const node = plan(first, second).toNode();
  assert.deepEqual(Plan.fromNode(JSON.parse(JSON.stringify(node))).pieces, [first, second]);
  for (const piece of node.pieces) {
    delete piece.before;
    delete piece.after;
  }
  assert.deepEqual(Plan.fromNode(node).pieces[0].before, []);
});
