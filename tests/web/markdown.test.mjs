/** Markdown is read as Python reads it: the cases of tests/documents/markdown_cases.json. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as markdown from "../../kokoro_tvm/web/frontend/normalization/markdown.js";
import { paragraphs } from "../../kokoro_tvm/web/frontend/paragraphs.js";
import { free } from "../../kokoro_tvm/web/frontend/source.js";
import { parse } from "../../kokoro_tvm/web/markup/index.js";
import { markedSections } from "../../kokoro_tvm/web/markup/passages.js";

const CASES = JSON.parse(readFileSync(new URL("../documents/markdown_cases.json", import.meta.url), "utf8"));
const SYMBOLS = new Map([..."ˈaɔbcdefhijklmnopqrstuvwxyzʃɹIO"].map((symbol, id) => [symbol, id]));

/** A text without its markup, in one line. @param {string} text */
function spoken(text) {
  const known = { symbols: SYMBOLS, language: () => "a", warn: () => {} };
  const parts = [];
  for (const section of markedSections(parse(text, known))) {
    for (let source of paragraphs(section.source)) {
      source = source.edited(free(markdown.pictures(source), source.links));
      for (const edits of [markdown.tags, markdown.entities, markdown.marks]) {
        source = source.edited(free(edits(source.text), source.links));
      }
      parts.push(...source.text.split(/\s+/).filter(Boolean));
    }
  }
  return parts.join(" ");
}

for (const { written, spoken: expected } of CASES) {
  test(JSON.stringify(written), () => assert.equal(spoken(written), expected));
}
