/** Texts of other languages than English, word by word, by the rules of the bundle; what links give phonemes for stands
 * between. */

import { MARKS } from "../marks.js";
import { isSpace, lstrip, strip } from "./python.js";

/** @typedef {import("./source.js").SourceText} SourceText */
/** @typedef {import("./tokens.js").Token} Token */

const NO_STRESS =
  "The stress of single words, and how a number is read, can be chosen with the English front end of a bundle alone; here " +
  "such links and <emphasis> change nothing.";

/** The words of a text with their places in its source, and notices.
 * @param {SourceText} source @param {import("./sounds.js").Sounds} sounds @returns {{tokens: Token[], notices: string[]}} */
export function converted(source, sounds) {
  const tokens = [];
  for (const { start, end, space, phonemes, origin } of parts(source)) {
    const text = source.text.slice(start, end);
    const given = { text, start: 0, end: text.length, phonemes, space: "", tag: "", origin };
    const words = phonemes === null ? sounds.tokens(text) : [given];
    if (words.length) words[words.length - 1] = { ...words[words.length - 1], space };
    for (const word of words) {
      const [first, last] = source.span(word.start + start, word.end + start);
      tokens.push({ ...word, start: first, end: last });
    }
  }
  return { tokens, notices: source.links.some((link) => link.phonemes === null) ? [NO_STRESS] : [] };
}

/** Stretches of a text, without space at both ends; space: whether one follows; phonemes: those a link gives, null where
 * they have to be found. @param {SourceText} source */
function* parts(source) {
  let done = 0;
  for (const link of source.links) {
    if (link.phonemes !== null) {
      yield* between(source.text, done, link.start);
      yield part(source.text, link.start, link.end, link.phonemes, link.origin);
      done = link.end;
    }
  }
  yield* between(source.text, done, source.text.length);
}

function* between(text, start, end) {
  const stretch = text.slice(start, end);
  if (/[\p{L}\p{N}]/u.test(stretch)) yield part(text, start, end, null, "");
  else if (strip(stretch)) {
    yield part(text, start, end, [...stretch].filter((char) => MARKS.has(char)).join(""), "mark");
  }
}

function part(text, start, end, phonemes, origin) {
  const stretch = text.slice(start, end);
  const first = start + stretch.length - lstrip(stretch).length;
  const last = first + strip(stretch).length;
  return { start: first, end: last, space: last < text.length && isSpace(text[last]) ? " " : "", phonemes, origin };
}

/** Tokens with spaces at both sides of English words. @param {Token[]} tokens @returns {Token[]} */
export function wordsApart(tokens) {
  const spaced = /** @type {Token[]} */ ([]);
  for (const token of tokens) {
    const last = spaced[spaced.length - 1];
    const origins = [token.origin, last?.origin];
    if (last && origins.includes("english") && !last.space) {
      spaced[spaced.length - 1] = { ...last, space: origins.includes("mark") ? "" : " " };
    }
    spaced.push(token);
  }
  return spaced;
}
