/** Brackets of a text: what JavaScript follows, as `tests/runtime/text/test_markup.py` has it of Python. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { parse } from "../../kokoro_tvm/web/markup/index.js";

const SYMBOLS = new Map([..."ˈaɔbcdefhijklmnopqrstuvwxyzʃɹIO"].map((symbol, id) => [symbol, id]));

/** The text that is spoken and the phonemes in it. @param {string} text */
function read(text, language = "a", markup = true) {
  const known = { symbols: SYMBOLS, language: () => language, warn: () => {} };
  const items = [...parse(text, known, null, markup)].filter((item) => item.source);
  return [
    items.map(({ source }) => source.text).join(""),
    items.flatMap(({ source }) => source.links.map((link) => link.phonemes)),
  ];
}

test("parse takes a path for text", () => {
  for (const path of ["/about/", "/docs/get-started/", "/blog", "/us/", "/p/", "/über/", "/a/b/", "/menu/", "/a☃/"]) {
    assert.deepEqual(read(`See [Tell us](${path}).`), ["See Tell us.", []], path);
  }
  for (const phonemes of ["mi", "hˈO", "ʃ", "mIn", "ˈdocs", "nu jɔɹk"]) {
    assert.deepEqual(read(`See [Tell us](/${phonemes}/).`), ["See Tell us.", [phonemes]]);
  }
  assert.deepEqual(read("[Buenas](/ola/) [hola](/hola/)", "e"), ["Buenas hola", ["ola"]]);
});

test("parse without markup returns text", () => {
  for (const text of ["[pause: dramatic] [a](/ˈa/) [voice:x]", "<speak>a</speak", "[a](/☃/) [rate:"]) {
    assert.deepEqual(read(text, "a", false), [text, []]);
  }
  assert.throws(() => [...parse("a", { symbols: SYMBOLS, language: () => "a", warn() {} }, true, false)], /has markup/);
});
