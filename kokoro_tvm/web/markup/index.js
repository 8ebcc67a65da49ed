/** Markup in a text: brackets (`[pause:0.5s]`) and a part of SSML, parsed to the same items. */

import { InputError } from "../errors.js";
import { SPACE, charAt, head, length } from "../characters.js";
import { truncate } from "../notices.js";
import { wholeCharacters } from "../passages.js";
import { SourceText } from "../source.js";
import { parseInline } from "./inline.js";
import { PLAIN } from "./items.js";
import { parseSsml } from "./ssml.js";

/** @typedef {import("./items.js").Item} Item */
/** @typedef {import("./items.js").Known} Known */

const PORTION = 1 << 12; // units that are examined together
const COMMENT = "<!--(?:(?!-->)[^])*-->";
const SSML = new RegExp(
  `^\\ufeff?[${SPACE}]*(<\\?xml[^>]*>[${SPACE}]*)?(${COMMENT}[${SPACE}]*)*<(speak[${SPACE}/>]|!DOCTYPE[${SPACE}]+speak)`,
  "u",
);
const DECISION = 1 << 10; // characters of the text that decide whether it is SSML

/**
 * Parse a text to stretches and breaks.
 *
 * ssml: whether it is SSML; null means that it is if it begins with `<speak`, after space and an XML declaration;
 * markup: whether markup is followed, else brackets and tags are text. Throws an InputError with line and column for
 * invalid markup.
 * @param {string | Iterable<string>} text
 * @param {Known} known
 * @param {boolean | null} [ssml]
 * @param {boolean} [markup]
 * @returns {Iterable<Item>}
 */
export function* parse(text, known, ssml = null, markup = true) {
  /** @type {any} */
  let portions = wholeCharacters(strings(text), PORTION)[Symbol.iterator]();
  if (!markup) {
    if (ssml) throw new InputError("A text that is SSML has markup. Leave out `ssml`, or `markup: false`.");
    yield* plain(portions);
    return;
  }
  if (ssml === null) {
    const begin = beginning(portions);
    ssml = SSML.test(head(begin, DECISION));
    portions = chained(begin, portions);
  }
  yield* ssml ? parseSsml(portions, known) : parseInline(portions, known);
}

/** @param {Iterable<string>} portions @returns {Iterable<Item>} */
function* plain(portions) {
  let start = 0;
  for (const portion of portions) {
    yield { source: SourceText.of(portion, start), manner: PLAIN };
    start += portion.length;
  }
}

function* strings(text) {
  if (typeof text?.[Symbol.iterator] !== "function") {
    throw new InputError(`The text to speak is a string, or strings in turn, not ${truncate(String(text))}.`);
  }
  for (const portion of typeof text === "string" ? [text] : text) {
    if (typeof portion !== "string") {
      throw new InputError(`The text to speak should come as strings, but ${truncate(String(portion))} came.`);
    }
    yield portion;
  }
}

/** Return as much of the text as decides whether it is SSML. @param {Iterator<string>} portions */
function beginning(portions) {
  let begin = "";
  for (;;) {
    const { value, done } = portions.next();
    if (done) return begin;
    begin += value;
    const first = charAt(begin.replace(/^[\ufeff \t\r\n]+/, ""), 0);
    if (length(begin) >= DECISION || (first && first !== "<") || SSML.test(begin)) return begin;
  }
}

function* chained(first, portions) {
  if (first) yield first;
  yield* { [Symbol.iterator]: () => portions };
}
