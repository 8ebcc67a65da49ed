import assert from "node:assert/strict";
import { test } from "node:test";
import { styleOf } from "../../kokoro_tvm/web/voices.js";

test("a row of a voice has memory of its own: a worker that is sent it gets nothing else", () => {
  const table = { rows: 3, width: 2, values: Float32Array.of(0, 1, 2, 3, 4, 5) };
  const row = styleOf(table, 1);
  assert.deepEqual([...row], [2, 3]);
  assert.equal(row.buffer.byteLength, row.byteLength);
});
