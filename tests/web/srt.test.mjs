/** Subtitles that are not as they should be, as `tests/runtime/documents/test_readers.py` has them of Python. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { textOfSrt } from "../../kokoro_tvm/web/page/files.js";

const cue = (number, text) => `${number}\n00:00:01,000 --> 00:00:02,000\n${text}\n`;

test("textOfSrt accepts cues without blank lines between them", () => {
  for (const [source, text] of [
    [cue(1, "A") + cue(2, "B"), "A\n\nB"],
    [cue(1, "A\n\nB\n1984") + cue(2, "C"), "A B 1984\n\nC"],
    [`${cue("", "A\n1984")}${cue("", "B")}`, "A 1984\n\nB"],
    [`By N.N.\n\n${cue(1, "A")}2\nsoon --> later\nB\n`, "A"],
  ]) {
    assert.equal(textOfSrt(source), text);
  }
  assert.throws(() => textOfSrt("1\nsoon --> later\nHi"), /no SRT/);
});
