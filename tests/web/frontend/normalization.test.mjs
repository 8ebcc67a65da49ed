/**
 * What Python's normaliser makes of texts, made here.
 *
 * NORMAL: a file of texts with their words, places and notices; FRONT_END: a bundle's front_end.safetensors.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inflateSync } from "node:zlib";

import { normalize } from "../../../kokoro_tvm/web/frontend/normalization/index.js";
import { Language } from "../../../kokoro_tvm/web/frontend/normalization/language.js";
import { SourceText } from "../../../kokoro_tvm/web/frontend/source.js";
import { readSafetensors } from "../../../kokoro_tvm/web/safetensors.js";

const ROWS = JSON.parse(readFileSync(process.env.NORMAL, "utf8"));
const tensors = readSafetensors(readFileSync(process.env.FRONT_END), "front_end.safetensors");
const languages = new Map();
const SHOWN = 5;

/** Words, and of each of their characters the first and the last place of the source; places are characters, as Python
 * counts them. */
function made(code, name, text) {
  if (!languages.has(code)) {
    const forms = JSON.parse(inflateSync(tensors.get(`text.${name}`).values).toString());
    languages.set(code, new Language(forms, code));
  }
  const { source, notices } = normalize(SourceText.of(text), languages.get(code), "ab".includes(code));
  const place = (unit) => [...text.slice(0, unit)].length;
  const [starts, ends] = [[], []];
  let unit = 0;
  for (const char of source.text) {
    starts.push(place(source.starts[unit]));
    unit += char.length;
    ends.push(place(source.ends[unit - 1]));
  }
  return [code, name, text, source.text, starts, ends, notices];
}

test("all texts are normalized as Python does", () => {
  assert.ok(ROWS.length > 500);
  const different = [];
  for (const wanted of ROWS) {
    const [code, name, text] = wanted;
    try {
      assert.deepStrictEqual(made(code, name, text), wanted);
    } catch (error) {
      different.push(`${JSON.stringify(text)} (${name})\n${error.message}`);
    }
  }
  const count = `${ROWS.length - different.length} of ${ROWS.length} texts are equal`;
  console.log(count);
  assert.equal(different.length, 0, [count, ...different.slice(0, SHOWN)].join("\n\n"));
});
