/** SSML of other makers: what JavaScript leaves out and speaks, as `tests/runtime/text/test_ssml.py` has it of Python. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { parse } from "../../kokoro_tvm/web/markup/index.js";

/** The text that is spoken, its phonemes, its pitches and the notes. @param {string} inner */
function read(inner) {
  const notes = [];
  const symbols = new Map([..."abcdefgh "].map((symbol, id) => [symbol, id]));
  const known = { symbols, language: () => "a", warn: (note) => notes.push(note) };
  const items = [...parse(`<speak>${inner}</speak>`, known)].filter((item) => item.source);
  return {
    text: items.map(({ source }) => source.text).join(""),
    phonemes: items.flatMap(({ source }) => source.links.map((link) => link.phonemes)),
    pitches: items.map(({ manner }) => manner.pitch),
    notes,
  };
}

test("phoneme keeps the known symbols of a foreign word", () => {
  const { text, phonemes, notes } = read(
    "<phoneme alphabet='IPA' ph='a\u0325b'>x</phoneme><phoneme alphabet='ipa' ph='☃'>e</phoneme>" +
      "<phoneme alphabet='x-sampa' ph='A'>h</phoneme>",
  );
  assert.equal(text, "xeh");
  assert.deepEqual(phonemes, ["ab"]);
  assert.deepEqual(notes, [
    "In line 1 of the SSML, the model does not know these phonemes of 'a\u0325b': '\u0325' (U+0325); they are left out.",
    "In line 1 of the SSML, the model does not know these phonemes of '☃': '☃' (U+2603); they are left out.",
    "In line 1 of the SSML, the alphabet 'x-sampa' of <phoneme> is not known; its text is spoken.",
  ]);
});

test("desc is not spoken", () => {
  const { text, notes } = read("<metadata><p>x</p>x</metadata>a <desc>x<voice name='no'>x</voice></desc>b");
  assert.equal(text, "a b");
  assert.equal(notes.length, 2);
});

test("prosody accepts a bare percentage as pitch", () => {
  assert.deepEqual(read("<prosody pitch='50%'>a</prosody>").pitches, [1.5]);
});
