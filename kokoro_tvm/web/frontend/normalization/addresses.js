/** Addresses as they are spoken: of the web, of mail, #tags and @names. */

import { Pattern, endOf, isSpace } from "../python.js";
import { edit } from "../source.js";
import { anyOf, inOrder, rewrite } from "./rules.js";

// Those that are no words of English: a space may be missing after a full stop.
const DOMAINS = (
  "com org net edu gov mil int info biz io ai app dev co uk ca au nz ie de fr es nl ch se fi dk pl pt br jp " +
  "cn kr ru eu tv fm ly gg xyz tech online site blog cloud news"
).split(" ");
const WEB = new Pattern(
  '(?<![\\w@./-])(?:(?:https?|ftp)://(?P<address>[^\\s<>\\"“”]{1,2000})' +
    `|(?P<bare>(?:[a-zA-Z0-9-]{1,63}\\.){1,5}${anyOf(DOMAINS)}(?![\\w@-]|\\.\\w)` +
    '(?:[/?#][^\\s<>\\"“”]{0,2000})?))',
);
const MAIL = new Pattern(
  "(?<![\\w.+%@-])[\\w.+%-]{1,64}@(?:[a-zA-Z0-9-]{1,63}\\.){1,8}[a-zA-Z]{2,24}(?![\\w@])",
);
const TAG = new Pattern("(?<![\\w&#@/])(?P<mark>[#@])(?P<name>(?=\\w*[^\\W\\d])\\w{1,100})");
const SHARP = new Pattern("(?<!\\w)(?P<letter>[A-G])#(?!\\w)");
const TRAILING = /(?<![.,;:!?…)\]}'’*_])[.,;:!?…)\]}'’*_]+$/;
const SAID = {
  ".": "dot", "/": "slash", "-": "dash", _: "underscore", "?": "question mark", "=": "equals", "&": "and",
  "#": "hash", "+": "plus", "@": "at", "~": "tilde", "%": "percent", ":": "colon", "!": "exclamation mark",
  "*": "star", $: "dollar",
};
const PIECE = new Pattern("[^\\W_]+|.", "s");
const WORDS = new Pattern("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\\d+|[^\\W\\d_a-zA-Z]+");

/** https://example.com/a: example dot com slash A. @param {string} text */
export function* web(text) {
  for (const match of WEB.finditer(text)) {
    const address = match.groups.address || match.groups.bare;
    const kept = address.replace(TRAILING, "");
    if (kept && (kept.includes(".") || match.groups.address)) {
      const end = endOf(match) - (address.length - kept.length);
      yield edit([match.index, end], spoken(unquote(kept).replace(/(?<!\/)\/+$/, "") || kept));
    }
  }
}

/** john.doe@example.com: john dot doe at example dot com. @param {string} text */
export const mail = (text) => rewrite(MAIL, text, (match) => spoken(match[0]));

/** #NewYork: hashtag New York; @john_doe: at john doe; C#: C sharp. @param {string} text */
export function tags(text) {
  const tag = (/** @type {RegExpExecArray} */ { groups }) => {
    const { mark, name } = /** @type {{mark: string, name: string}} */ (groups);
    const words = WORDS.findall(name).join(" ");
    return words ? `${mark === "#" ? "hashtag" : "at"} ${words}` : null;
  };
  return inOrder([
    ...rewrite(TAG, text, tag),
    ...rewrite(SHARP, text, (match) => `${match.groups.letter} sharp`),
  ]);
}

/** Every word and mark of an address; a letter alone by its name. */
function spoken(address) {
  return PIECE.findall(address)
    .filter((piece) => !isSpace(piece))
    .map((piece) => {
      if (piece.toLowerCase() === "www") return "W W W";
      return /^[a-zA-Z]$/.test(piece) ? piece.toUpperCase() : (SAID[piece] ?? piece);
    })
    .join(" ");
}

/** The text of an address with its %-escapes as characters of UTF-8; what is none stays, as bytes do in Python. */
function unquote(address) {
  return address.replace(/[\0-\x7f]+/g, (ascii) => {
    if (!ascii.includes("%")) return ascii;
    const bytes = [];
    for (let place = 0; place < ascii.length; place++) {
      const escaped = /^%([0-9a-fA-F]{2})/.exec(ascii.slice(place, place + 3));
      bytes.push(escaped ? parseInt(escaped[1], 16) : ascii.charCodeAt(place));
      if (escaped) place += 2;
    }
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
  });
}
