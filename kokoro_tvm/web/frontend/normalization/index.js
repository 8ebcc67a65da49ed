/** Written forms to the words they are read as, before the front end: each step keeps its places. */

import { free, isFixed } from "../source.js";
import * as characters from "./characters.js";
import * as emoji from "./emoji.js";
import * as markdown from "./markdown.js";
import { Scanner } from "./scanner.js";

// What is no language: markup, and how characters are written. An entity may write a tag, which is none then.
const FIRST = [
  markdown.tags,
  markdown.entities,
  markdown.marks,
  characters.composed,
  characters.apostrophes,
  characters.dashes,
];

/** The text as it is to be read in a language, the same without markup as it is written, and notices of what is read
 * otherwise; what a link gives phonemes for stays as it is.
 * @param {import("../source.js").SourceText} source @param {import("./language.js").Language} language
 * @param {boolean} [names] whether emoji are read by their English names
 * @returns {{source: import("../source.js").SourceText, plain: import("../source.js").SourceText, notices: string[]}} */
export function normalize(source, language, names = false) {
  source = source.edited(free(markdown.pictures(source), source.links));
  for (const edits of names ? [...FIRST, emoji.names] : FIRST) {
    source = source.edited(free(edits(source.text), source.links));
  }
  source = source.edited(free(characters.figures(source.text), source.links.filter(isFixed)));
  const { edits, changed } = new Scanner(language).scan(source);
  const said = source.edited(edits);
  const divided = [...free(characters.divided(said.text), said.links)];
  const notices = [];
  if (changed.length) notices.push(`Read with other letters: ${[...new Set(changed)].join(", ")}`);
  if (divided.length) {
    const words = new Set(divided.map(({ start, end }) => said.text.slice(start, end)));
    notices.push(`Divided, because it is too long for a word: ${[...words].join(" ")}`);
  }
  return { source: said.edited(divided), plain: source, notices };
}
