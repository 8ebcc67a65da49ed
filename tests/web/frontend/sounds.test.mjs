/**
 * What Python's front end reads of texts by rules of letter-to-sound, read here.
 *
 * READ: a file of texts with their tokens and notices; FRONT_END: a bundle's front_end.safetensors.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { FrontEnd } from "../../../kokoro_tvm/web/frontend/front_end.js";
import { SourceText } from "../../../kokoro_tvm/web/frontend/source.js";

const ROWS = JSON.parse(readFileSync(process.env.READ, "utf8"));
const frontEnd = await FrontEnd.open(readFileSync(process.env.FRONT_END));
const SHOWN = 5;

/** Tokens of all utterances; places are characters, as Python counts them. */
function read(code, text) {
  const place = (unit) => [...text.slice(0, unit)].length;
  const { utterances, notices } = frontEnd.read(SourceText.of(text), code);
  const tokens = utterances.flatMap((utterance) => utterance.tokens);
  return [tokens.map((t) => [t.text, place(t.start), place(t.end), t.phonemes, t.space, t.origin]), notices];
}

test("texts are read as in Python", () => {
  const different = [];
  for (const [code, text, tokens, notices] of ROWS) {
    const found = read(code, text);
    if (JSON.stringify(found) !== JSON.stringify([tokens, notices])) different.push({ code, text, found, due: [tokens, notices] });
  }
  console.log(`${ROWS.length - different.length} of ${ROWS.length} texts are equal`);
  assert.deepEqual(different.slice(0, SHOWN), []);
});
