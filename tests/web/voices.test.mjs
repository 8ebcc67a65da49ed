import assert from "node:assert/strict";
import { test } from "node:test";
import { Voices, styleOf } from "../../kokoro_tvm/web/voices.js";

test("a row of a voice has memory of its own: a worker that is sent it gets nothing else", () => {
  const table = { rows: 3, width: 2, values: Float32Array.of(0, 1, 2, 3, 4, 5) };
  const row = styleOf(table, 1);
  assert.deepEqual([...row], [2, 3]);
  assert.equal(row.buffer.byteLength, row.byteLength);
});

test("a mix that takes away what it adds is refused, as Python refuses it", () => {
  const table = { rows: 1, width: 2, values: Float32Array.of(1, 2) };
  const voices = new Voices(new Map([["a", table], ["b", table]]));
  for (const mix of ["a-a", "a-b", "a(1.01)-b", "a-b(3)"]) {
    assert.throws(() => voices.table(mix), { message: /^This mix takes away nearly all that it adds, and no voice / });
  }
  assert.equal(voices.table("a(3)-b(2)").rows, 1);
});
