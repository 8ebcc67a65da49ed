/** A plan as JSON, and back. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Plan } from "../../kokoro_tvm/web/plan.js";

const again = (node) => Plan.fromNode(JSON.parse(JSON.stringify(node)));

test("fromNode restores a plan from JSON", () => {
  const plan = new Plan({ pieces: [], voice: "af_heart", speed: 1.25, seed: 2n ** 53n - 1n });
  assert.deepStrictEqual(again(plan.toNode()), plan);
});

test("fromNode refuses a fractional seed", () => {
  const node = new Plan({ pieces: [], voice: "af_heart" }).toNode();
  assert.throws(() => again({ ...node, seed: 0.5 }), /should be a BigInt from 0n/);
});
