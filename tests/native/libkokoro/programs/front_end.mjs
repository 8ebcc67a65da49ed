/**
 * What Python reads of passages, read here: READINGS, by a bundle's text.wasm (TEXT) and front_end.safetensors (FRONT_END).
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { BundleError, InputError } from "../../../../kokoro_tvm/web/errors.js";
import { FrontEnd } from "../../../../kokoro_tvm/web/front_end.js";

const [code, data] = [readFileSync(process.env.TEXT), readFileSync(process.env.FRONT_END)];
const frontEnd = await FrontEnd.open(code, data);

test("all passages are read as Python does", () => {
  const rows = JSON.parse(readFileSync(process.env.READINGS, "utf8"));
  for (const [text, links, language, utterances, notices] of rows) {
    const found = frontEnd.read(text, links, language);
    const tokens = found.utterances.map((each) =>
      each.map((t) => [t.text, t.start, t.end, t.phonemes, t.space, t.tag, t.origin]),
    );
    assert.deepEqual([tokens, found.notices], [utterances, notices], JSON.stringify([text, links, language]));
  }
  console.log(`${rows.length} of ${rows.length} passages`);
});

test("what cannot be read is refused, again and again, and what follows is read", () => {
  const before = frontEnd.read("A word.", [], "a");
  for (let time = 0; time < 1000; time++) {
    assert.throws(() => frontEnd.read("a\0", [], "a"), { name: "InputError", message: /^The text holds a NUL byte/ });
  }
  assert.throws(() => frontEnd.read("a \ud800", [], "a"), /^InputError: The text is not valid UTF-8/);
  assert.deepEqual(frontEnd.read("A word.", [], "a"), before);
});

test("what the bundle has no front end for is refused", async () => {
  assert.throws(() => frontEnd.read("a", [], "j"), /Japanese text cannot be turned into phonemes/);
  const none = await FrontEnd.open(null, null);
  assert.throws(() => none.read("a", [], "a"), InputError);
});

test("a file of another layout is refused", async () => {
  for (const bytes of [data.subarray(0, 1000), new Uint8Array(3), new Uint8Array(0)]) {
    await assert.rejects(FrontEnd.open(code, bytes), BundleError);
  }
  const empty = Buffer.concat([Buffer.from(BigUint64Array.of(2n).buffer), Buffer.from("{}")]);
  const opened = await FrontEnd.open(code, empty);
  assert.throws(() => opened.read("a", [], "a"), /has no format that this version reads. Build the bundle again/);
});
