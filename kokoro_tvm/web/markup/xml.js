/**
 * XML parser for portions, with places of elements and text.
 *
 * It reads the part of XML 1.0 that SSML needs: elements, attributes, text, the five predefined entities, numeric
 * characters, comments, CDATA and instructions. It loads nothing: a document type, and with it any other entity, is
 * refused.
 */

import { InputError } from "../errors.js";
import { SourceText } from "../source.js";
import { length } from "../characters.js";
import { at } from "./values.js";

/**
 * Callbacks for parts of a document; `place` is a unit of the text.
 *
 * innermost: the innermost open element with its place, or "".
 * @typedef {{readonly innermost: string, start: (name: string, attributes: Map<string, string>, line: number, column:
 *   number) => void, end: (name: string, place: number) => void, text: (source: SourceText) => void}} Listener
 */

const MOST_WAITING = 1 << 16; // units of a tag, or of another incomplete part
const NAME = "[:_\\p{L}][-:.\\w\\p{L}\\p{N}\\p{M}\\u00b7]*";
const TAG = new RegExp(`^<(${NAME})((?:\\s+${NAME}\\s*=\\s*(?:"[^<"]*"|'[^<']*'))*)\\s*(/?)>`, "u");
const ATTRIBUTE = new RegExp(`(?<!\\s)\\s+(${NAME})\\s*=\\s*("[^"]*"|'[^']*')`, "gu");
const END_TAG = new RegExp(`^</(${NAME})\\s*>`, "u");
const REFERENCE = /&(?:([a-zA-Z]+)|#([0-9]+)|#x([0-9a-fA-F]+));/g;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;
const BREAKS = /\r\n|\r|\n/g;

/** A document that comes in portions. Throws an InputError with line and column. */
export class Xml {
  /** @param {Listener} listener */
  constructor(listener) {
    this._listener = listener;
    this._buffer = ""; // unread portions
    this._place = 0; // of the buffer in the text
    this._line = 1;
    this._column = 1;
    this._begun = this._ended = false;
    /** @type {string[]} */
    this._open = [];
  }

  /**
   * Parse a portion and call the listener for complete parts.
   * @param {string} portion
   * @param {boolean} final
   */
  feed(portion, final) {
    if (/\p{Cs}/u.test(portion)) throw new InputError("The SSML is not valid UTF-8. Convert it to UTF-8 first.");
    this._buffer += portion;
    if (!this._begun) {
      // XML allows no space before its declaration; here it is allowed.
      const [space] = /^[\ufeff \t\r\n]*/.exec(this._buffer);
      this._consume(space.length);
      this._begun = this._buffer !== "";
    }
    while (this._buffer) {
      if (!(this._buffer[0] === "<" ? this._markup() : this._text(final))) break;
    }
    if (final && (this._buffer || this._open.length || !this._ended)) {
      throw this._malformed(this._buffer ? "unclosed token" : "no element found");
    }
    if (this._buffer.length > MOST_WAITING) {
      at(this._line, this._column, () => {
        throw new InputError(`what begins here has more than ${MOST_WAITING} units. Close the tag.`);
      });
    }
  }

  /** Parse a part that begins with "<"; return whether it is complete. */
  _markup() {
    const buffer = this._buffer;
    for (const [opening, closing] of [["<!--", "-->"], ["<![CDATA[", "]]>"], ["<?", "?>"]]) {
      if (!buffer.startsWith(opening)) {
        if (opening.startsWith(buffer)) return false;
        continue;
      }
      const end = buffer.indexOf(closing, opening.length);
      if (end < 0) return false;
      const inner = buffer.slice(opening.length, end);
      if (FORBIDDEN.test(inner) || (opening === "<!--" && /--|-$/.test(inner))) {
        throw this._malformed("not well-formed (invalid token)");
      }
      this._consume(opening.length);
      if (opening === "<![CDATA[") {
        if (!this._open.length) throw this._malformed("not well-formed (invalid token)");
        this._say(inner);
      }
      this._consume(end - opening.length + closing.length);
      return true;
    }
    if (buffer.startsWith("<!DOCTYPE")) {
      at(this._line, this._column, () => {
        throw new InputError("SSML with a document type is not read. Remove <!DOCTYPE ...> and its entities.");
      });
    }
    if ("<!DOCTYPE".startsWith(buffer)) return false;
    // A tag ends with the first ">" outside of quotes.
    const [whole] = /^<(?:[^<>"']|"[^<"]*"|'[^<']*')*>?/.exec(buffer);
    if (!whole.endsWith(">")) {
      if (whole.length < buffer.length && !/^["']/.test(buffer.slice(whole.length))) {
        throw this._malformed("not well-formed (invalid token)");
      }
      return false;
    }
    if (buffer[1] === "/") this._endTag(whole);
    else this._startTag(whole);
    return true;
  }

  _startTag(tag) {
    const result = TAG.exec(tag);
    if (!result || FORBIDDEN.test(tag)) throw this._malformed("not well-formed (invalid token)");
    if (this._ended) throw this._malformed("junk after document element");
    const [, name, written, closed] = result;
    /** @type {Map<string, string>} */
    const attributes = new Map();
    for (const [, attribute, quoted] of written.matchAll(ATTRIBUTE)) {
      if (attributes.has(attribute)) throw this._malformed("duplicate attribute");
      const plain = quoted.slice(1, -1).replace(/\r\n|[\r\n\t]/g, " ");
      attributes.set(attribute, this._withReferences(plain));
    }
    const [line, column] = [this._line, this._column];
    at(line, column, () => this._listener.start(name, attributes, line, column));
    this._open.push(name);
    this._consume(tag.length);
    if (closed) this._end(name);
  }

  _endTag(tag) {
    const name = END_TAG.exec(tag)?.[1];
    if (name === undefined) throw this._malformed("not well-formed (invalid token)");
    if (this._open[this._open.length - 1] !== name) throw this._malformed("mismatched tag");
    this._end(name);
    this._consume(tag.length);
  }

  _end(name) {
    this._listener.end(name, this._place);
    this._open.pop();
    this._ended = !this._open.length;
  }

  /** Parse text up to the next tag; return whether all of it is complete. */
  _text(final) {
    const next = this._buffer.indexOf("<");
    let text = next < 0 ? this._buffer : this._buffer.slice(0, next);
    if (next < 0 && !final) {
      // A reference, a line break or the end of a CDATA section may be incomplete.
      text = text.replace(/(?:&[^;]{0,12}|\r|\]{1,2})$/, "");
      if (!text) return false;
    }
    if (!this._open.length) {
      if (/[^ \t\r\n]/.test(text)) {
        throw this._malformed(this._ended ? "junk after document element" : "not well-formed (invalid token)");
      }
      this._consume(text.length);
      return true;
    }
    if (FORBIDDEN.test(text) || text.includes("]]>")) throw this._malformed("not well-formed (invalid token)");
    let done = 0;
    for (const result of text.matchAll(REFERENCE)) {
      this._plain(text.slice(done, result.index));
      const symbol = this._withReferences(result[0]);
      const units = symbol.length;
      const [start, end] = [this._place, this._place + result[0].length];
      this._listener.text(new SourceText(symbol, Array(units).fill(start), Array(units).fill(end)));
      this._consume(result[0].length);
      done = result.index + result[0].length;
    }
    this._plain(text.slice(done));
    return true;
  }

  _plain(text) {
    if (text.includes("&")) throw this._malformed("not well-formed (invalid token)");
    if (text) this._say(text);
    this._consume(text.length);
  }

  /** Pass on text at the beginning of the buffer, with every line break as one character. */
  _say(text) {
    let done = 0;
    for (const result of [...text.matchAll(/\r\n?/g), null]) {
      const end = result ? result.index : text.length;
      if (end > done) this._listener.text(SourceText.of(text.slice(done, end), this._place + done));
      if (!result) return;
      const [start, last] = [this._place + end, this._place + end + result[0].length];
      this._listener.text(new SourceText("\n", [start], [last]));
      done = end + result[0].length;
    }
  }

  _withReferences(text) {
    const rest = text.replace(REFERENCE, "");
    if (rest.includes("&")) throw this._malformed("not well-formed (invalid token)");
    return text.replace(REFERENCE, (_, name, decimal, hex) => {
      if (name !== undefined) {
        if (!Object.hasOwn(ENTITIES, name)) throw this._malformed("undefined entity");
        return ENTITIES[name];
      }
      const code = decimal === undefined ? parseInt(hex, 16) : parseInt(decimal, 10);
      const symbol = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : "\0";
      if (FORBIDDEN.test(symbol)) throw this._malformed("reference to invalid character number");
      return symbol;
    });
  }

  _consume(count) {
    const done = this._buffer.slice(0, count);
    const lines = done.split(BREAKS);
    this._line += lines.length - 1;
    this._column = (lines.length > 1 ? 1 : this._column) + length(lines[lines.length - 1]);
    this._place += count;
    this._buffer = this._buffer.slice(count);
  }

  _malformed(reason) {
    let hint = "";
    if ((reason === "no element found" || reason === "mismatched tag") && this._listener.innermost) {
      hint = ` Close ${this._listener.innermost} first.`;
    } else if (reason.includes("token") || reason.includes("entity")) {
      hint = " Write & as &amp; and < as &lt;.";
    }
    const why = reason.replace("no element found", "it ends too early");
    return new InputError(
      `The SSML is not well-formed in line ${this._line}, column ${this._column}: ${why}.${hint}`,
    );
  }
}
