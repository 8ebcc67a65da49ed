/** Markup inside a line: HTML's tags and entities, Markdown's emphasis, code, notes and autolinks. */

import { unescape } from "../entities.js";
import { Pattern, charAt, charBefore, endOf, isAlnum, isDigit, isPrintable, isSpace } from "../python.js";
import { edit } from "../source.js";
import { anyOf, inOrder, rewrite } from "./rules.js";

const INLINE = (
  "a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup"
).split(" ");
const BLOCK = "br div h1 h2 h3 h4 h5 h6 hr li ol p pre section table td th tr u ul blockquote img".split(" ");
// With attributes that have values: "a<b and c>d" are two comparisons.
const TAG = new Pattern(
  `<!--[^<>]*-->|</?(?P<name>${anyOf([...INLINE, ...BLOCK])})(?:\\s[^\\s<>=]{1,99}=[^<>]*|\\s?/?\\s?)>`,
  "i",
);
const ENTITY = new Pattern("&(?:#\\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});");
const MARKS = new Pattern(
  "(?P<autolink><(?P<address>(?:https?://|mailto:)?[^\\s<>@]{1,64}[@.][^\\s<>]{1,2000})>)" +
    "|(?P<note>^\\[\\^[\\w-]{1,40}\\]:|\\[\\^[\\w-]{1,40}\\])" +
    "|(?P<empty>!?\\[\\](?:\\([^()\\[\\]]*\\))?)" +
    "|(?P<reference>\\[(?P<words>[^\\[\\]]+)\\]\\[[^\\[\\]]{0,99}\\])" +
    "|(?P<escape>\\\\(?P<char>[][\\\\`*_~#()<>!|.+-]))" +
    "|(?P<cell> \\| )" +
    "|(?P<run>\\*+|_+|~+|`+)",
);
const PICTURE = new Pattern("(?<!\\S)!(?=\\S)");
const LONGEST = { "*": 3, _: 3, "~": 2, "`": 3 }; // marks in a row that mean anything

/** The mark of a picture, `![a cat](cat.png)`, is left out, once links have lost their brackets.
 * @param {import("../source.js").SourceText} source */
export function* pictures(source) {
  for (const mark of PICTURE.finditer(source.text)) {
    if (source.ends[mark.index] < source.starts[endOf(mark)]) yield edit([mark.index, endOf(mark)], "");
  }
}

/** Comments and tags of HTML are left out; those that begin a line or a cell leave a space. @param {string} text */
export function tags(text) {
  return rewrite(TAG, text, ({ groups: { name } }) => (INLINE.includes((name || "a").toLowerCase()) ? "" : " "));
}

/** Entities are the characters they name, spaces of every width one space. @param {string} text */
export function entities(text) {
  return rewrite(ENTITY, text, (match) => {
    const named = unescape(match[0]);
    if (named === match[0]) return null;
    return [...named]
      .filter((char) => isPrintable(char) || isSpace(char))
      .map((char) => (isSpace(char) ? " " : char))
      .join("");
  });
}

/** Marks of Markdown are left out where they mean something: emphasis in pairs, code, notes, escapes.
 * @param {string} text */
export function marks(text) {
  const edits = [];
  /** @type {Map<string, RegExpExecArray[]>} */
  const opened = new Map();
  for (const match of MARKS.finditer(text)) {
    const { run, address, words, char, cell } = match.groups;
    if (run) {
      const opening = close(text, match, opened);
      if (opening) edits.push(...[opening, match].map((each) => edit([each.index, endOf(each)], "")));
    } else {
      edits.push(edit([match.index, endOf(match)], cell ? ", " : address || words || char || ""));
    }
  }
  return inOrder(edits);
}

/** The run that this one ends; where it ends none, it may begin one itself. */
function close(text, run, opened) {
  const marks = run[0];
  if (marks.length > LONGEST[marks[0]] || marks === "~") return null;
  const [before, after] = [charBefore(text, run.index), charAt(text, endOf(run))];
  if (isDigit(before) && isDigit(after)) return null; // a product
  const waiting = opened.get(marks) ?? [];
  opened.set(marks, waiting);
  if (waiting.length && ((before && !isSpace(before)) || marks[0] === "`")) {
    const opening = waiting[waiting.length - 1];
    const insideWords = isAlnum(charBefore(text, opening.index)) && isAlnum(after);
    if (endOf(opening) < run.index && !(insideWords || (marks[0] === "_" && isAlnum(after)))) {
      waiting.length = 0;
      return opening;
    }
  }
  if (after && !isSpace(after) && !(marks[0] === "_" && isAlnum(before))) waiting.push(run);
  return null;
}
