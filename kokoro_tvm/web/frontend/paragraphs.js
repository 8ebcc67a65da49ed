/** Divides a text into what is read as one: paragraphs, and the blocks of Markdown inside them. */

import { blockAt } from "./blocks.js";
import { Pattern, endOf } from "./python.js";
import { WORD, edit, free } from "./source.js";

/** @typedef {import("./source.js").SourceText} SourceText */

const LEAD = new Pattern("(?:\\s|>(?=[\\s>]|$))*"); // with the marks of a quotation
const CELL = new Pattern(" ?\\| ?");
const BOX = new Pattern("\\[[ xX]?\\] ");
const HEADING_END = /(?<=\s)#{1,9}$/;
const ONE_LINE = new Set(["heading", "row", "fence", "rule"]);

/**
 * Parts of the text between blank lines that may be spoken, with every run of whitespace as one space (wrapped lines
 * read on); lines that begin a block of Markdown are parts too, without its mark.
 *
 * A link lies within a line.
 *
 * @param {SourceText} source @returns {SourceText[]}
 */
export function paragraphs(source) {
  const found = [];
  for (const part of parts(source.text)) {
    const joined = source.joined(words(source.text, part.lines));
    const plain = withoutMarks(joined, part.kind);
    if (plain.speakable) found.push(plain);
  }
  return found;
}

/** @returns {Iterable<[number, number]>} */
function* words(text, lines) {
  for (const [start, end] of lines) {
    for (const word of WORD.finditer(text.slice(start, end))) yield [start + word.index, start + endOf(word)];
  }
}

/** The lines of paragraphs, as slices of the text without marks; kind: see `blockAt`, "" for none. */
function* parts(text) {
  let part = { kind: "", lines: [] };
  for (const [start, end] of lines(text)) {
    if (start === end) {
      yield part;
      part = { kind: "", lines: [] };
      continue;
    }
    const block = blockAt(text, start, !part.lines.length || part.kind === "numbered");
    if (block || ONE_LINE.has(part.kind)) {
      yield part;
      part = { kind: block ? block.kind : "", lines: [] };
    }
    if (block?.kind === "fence") continue;
    part.lines.push([block && block.kind !== "numbered" ? block.end : start, end]);
  }
  yield part;
}

/** The words of every line, from the first to the end. */
function* lines(text) {
  let place = 0;
  for (const line of text.split("\n")) {
    yield [place + endOf(LEAD.match(line)), place + line.length];
    place += line.length + 1;
  }
}

/** A part without the marks inside of it: of cells and boxes; a numbered item says its number. */
function withoutMarks(source, kind) {
  const text = source.text;
  let edits = [];
  if (kind === "numbered" && /[.)]/.test(text)) {
    const place = text.search(/[.)]/);
    edits = [edit([place, place + 1], ":")];
  }
  const headingEnd = kind === "heading" ? HEADING_END.exec(text) : null;
  if (headingEnd) edits = [edit([headingEnd.index, text.length], "")];
  const box = kind === "item" ? BOX.match(text) : null;
  if (box) edits = [edit([0, endOf(box)], "")];
  if (kind === "row") {
    edits = [...CELL.finditer(text)].map((cell) =>
      edit([cell.index, endOf(cell)], endOf(cell) < text.length ? ", " : ""),
    );
  }
  return source.edited(free(edits, source.links));
}
