/**
 * Parser of the part of SSML 1.1 (W3C, 2010) that can be spoken.
 *
 * Text in unknown elements is spoken, text of descriptions is not. A notice names every ignored element once.
 */

import { InputError } from "../errors.js";
import { endOf, length, split, strip } from "../characters.js";
import { quoted, truncate } from "../notices.js";
import { SourceText, linkFrom } from "../source.js";
import { LONGEST_LINK } from "./inline.js";
import { PLAIN, breakOf } from "./items.js";
import { at, checkSymbols, fromIpa, listedSymbols, pitch, rate, seconds } from "./values.js";
import { Xml } from "./xml.js";

/** @typedef {import("./items.js").Item} Item */
/** @typedef {import("./items.js").Known} Known */
/** @typedef {import("./items.js").Manner} Manner */
/** @typedef {import("../source.js").Link} Link */

const BREAKS = new Map([
  ["none", null], ["x-weak", 0.05], ["weak", 0.2], ["medium", 0.3], ["strong", 0.4], ["x-strong", 0.8],
]);
const STRESSES = new Map([["strong", 2], ["moderate", 1], ["none", null], ["reduced", -1]]);
const SILENT = ["desc", "metadata"]; // elements about the document
const PASSED_OVER = /^(version|xmlns|xml|xsi)(:.*)?$/; // attributes without an effect on speech
const MOST_OPEN = 64; // nested elements
const WORD = /[\p{L}\p{N}_]+/gu;
/** Supported elements with their attributes. @type {Map<string, string[]>} */
const ELEMENTS = new Map([
  ["speak", []], ["p", []], ["s", []], ["break", ["time", "strength"]], ["phoneme", ["ph", "alphabet"]],
  ["sub", ["alias"]], ["prosody", ["rate", "pitch"]], ["emphasis", ["level"]], ["voice", ["name"]],
]);

/**
 * Parse an SSML document to stretches and breaks. Throws an InputError with line and column.
 * @param {Iterable<string>} portions
 * @param {Known} known
 * @returns {Iterable<Item>}
 */
export function* parseSsml(portions, known) {
  const elements = new Elements(known);
  const document = new Xml(elements);
  for (const portion of portions) {
    document.feed(portion, false);
    yield* elements.items.splice(0);
  }
  document.feed("", true);
  yield* elements.items;
}

/** Translate elements of a document to items. */
class Elements {
  /** @param {Known} known */
  constructor(known) {
    /** @type {Item[]} */
    this.items = [];
    this._known = known;
    /**
     * Open elements: name and place, and the state to restore.
     * @type {{name: string, line: number, column: number, manner: Manner, stress: number | null}[]}
     */
    this._open = [];
    /** @type {Manner} */
    this._manner = PLAIN;
    /** @type {number | null} */
    this._stress = null;
    /** The text of an element that its attributes replace. @type {{link: Link, text: SourceText} | null} */
    this._held = null;
    this._silent = 0; // open elements within one of SILENT, including it
    this._noted = new Set();
  }

  /** Return the innermost open element with its place, or "". */
  get innermost() {
    if (!this._open.length) return "";
    const { name, line, column } = this._open[this._open.length - 1];
    return `<${truncate(name)}> of line ${line}, column ${column}`;
  }

  /** Begin an element. */
  start(name, attributes, line, column) {
    if (!this._open.length && name !== "speak") throw new InputError(`SSML begins with <speak>, not with <${truncate(name)}>.`);
    if (this._open.length === MOST_OPEN) {
      throw new InputError(`more than ${MOST_OPEN} elements are open. Close some of them.`);
    }
    if (this._held) {
      throw new InputError(`<${this._open[this._open.length - 1].name}> holds text alone, no <${truncate(name)}>.`);
    }
    this._open.push({ name, line, column, manner: this._manner, stress: this._stress });
    if (this._silent || SILENT.includes(name)) {
      if (!this._silent) this._note(`<${name}> is left out`);
      this._silent++;
      return;
    }
    const followed = ELEMENTS.get(name);
    if (!followed) {
      this._note(`<${truncate(name)}> is not known; its text is spoken`);
      return;
    }
    this[`_${name}`](attributes);
    for (const other of attributes.keys()) {
      if (!followed.includes(other) && !PASSED_OVER.test(other)) this._note(`${quoted(other)} of <${name}> changes nothing`);
    }
  }

  /** End an element and restore the state before it. */
  end(name, place) {
    if (this._held) this._release(this._held, place);
    const opened = this._open.pop();
    this._speakAs(opened.manner);
    this._stress = opened.stress;
    if (this._silent) this._silent--;
    else if (name === "p" || name === "s") this.items.push(breakOf({ boundary: name === "p" ? "paragraph" : "sentence" }));
  }

  /** Speak characters, or collect them for the element that replaces them. @param {SourceText} source */
  text(source) {
    if (this._silent) return;
    if (!this._held) {
      this._say(source);
      return;
    }
    const text = SourceText.concatenated([this._held.text, source]);
    if (length(text.text) > LONGEST_LINK) {
      const { name, line, column } = this._open[this._open.length - 1];
      at(line, column, () => {
        throw new InputError(`<${name}> has more than ${LONGEST_LINK} characters.`);
      });
    }
    this._held.text = text;
  }

  _note(what) {
    if (this._noted.has(what)) return;
    this._noted.add(what);
    this._known.warn(`In line ${this._open[this._open.length - 1].line} of the SSML, ${what}.`);
  }

  _say(source) {
    if (this._stress !== null) {
      const words = [...source.text.matchAll(WORD)];
      source = source.withLinks(words.map((word) => linkFrom(word.index, endOf(word), { stress: this._stress })));
    }
    this.items.push({ source, manner: this._manner });
  }

  _speakAs(manner) {
    if (manner.voice !== this._manner.voice) this.items.push(breakOf());
    this._manner = manner;
  }

  /** Return the text of <phoneme> and <sub>, or its replacement. */
  _release({ link, text: held }, place) {
    this._held = null;
    let text = held.inOneLine();
    if (!text.text) {
      const spoken = link.phonemes || link.alias || "";
      const places = Array(spoken.length).fill(place);
      text = new SourceText(spoken, places, places);
    }
    const links = text.text ? [{ ...link, end: text.text.length }] : [];
    this.items.push({ source: text.withLinks(links), manner: this._manner });
  }

  _hold(request) {
    this._held = { link: linkFrom(0, 0, request), text: SourceText.of("") };
  }

  _speak() {
    if (this._open.length > 1) this._note("<speak> stands within <speak>");
  }

  _p() {
    this.items.push(breakOf({ boundary: "paragraph" }));
  }

  _s() {
    this.items.push(breakOf({ boundary: "sentence" }));
  }

  _break(attributes) {
    const strength = attributes.get("strength") ?? "medium";
    if (!BREAKS.has(strength)) {
      throw new InputError(`${quoted(strength)} is no strength of <break>. Known: ${[...BREAKS.keys()].join(", ")}.`);
    }
    const time = attributes.get("time");
    const pause = time === undefined ? BREAKS.get(strength) : seconds(time, 'time="0.5s" or time="500ms"');
    if (pause !== null) this.items.push(breakOf({ pause }));
  }

  _phoneme(attributes) {
    const alphabet = (attributes.get("alphabet") ?? "misaki").toLowerCase();
    let phonemes = strip(attributes.get("ph") ?? "");
    if (!phonemes) throw new InputError('<phoneme> needs phonemes. Write them as ph="...".');
    checkLength("ph", phonemes);
    if (alphabet === "misaki") phonemes = checkSymbols(phonemes, this._known.symbols);
    else if (alphabet === "ipa") phonemes = this._fromIpa(phonemes);
    else {
      this._note(`the alphabet ${quoted(alphabet)} of <phoneme> is not known; its text is spoken`);
      return;
    }
    if (phonemes) this._hold({ phonemes });
  }

  /** Return phonemes of the IPA without marks that the model does not know. */
  _fromIpa(phonemes) {
    const ours = [...split(fromIpa(phonemes, this._known.language(this._manner.voice))).join(" ")];
    const known = ours.filter((symbol) => symbol === " " || this._known.symbols.has(symbol));
    const unknown = listedSymbols(ours.filter((symbol) => !known.includes(symbol)));
    if (unknown) {
      this._note(`the model does not know these phonemes of ${quoted(phonemes)}: ${unknown}; they are left out`);
    }
    return strip(known.join(""));
  }

  _sub(attributes) {
    const alias = split(attributes.get("alias") ?? "").join(" ");
    if (!alias) throw new InputError('<sub> needs what is spoken. Write it as alias="...".');
    checkLength("alias", alias);
    this._hold({ alias });
  }

  _prosody(attributes) {
    let manner = this._manner;
    const [speed, height] = [attributes.get("rate"), attributes.get("pitch")];
    if (speed !== undefined) manner = { ...manner, rate: rate(speed) };
    if (height !== undefined) {
      const factor = pitch(height, manner.pitch);
      if (factor === null) this._note("a pitch in Hz changes nothing; write a change of it, such as +10%");
      else manner = { ...manner, pitch: factor };
    }
    this._speakAs(manner);
  }

  _emphasis(attributes) {
    const level = attributes.get("level") ?? "moderate";
    if (!STRESSES.has(level)) {
      throw new InputError(`${quoted(level)} is no level of <emphasis>. Known: ${[...STRESSES.keys()].join(", ")}.`);
    }
    this._stress = STRESSES.get(level);
  }

  _voice(attributes) {
    const name = strip(attributes.get("name") ?? "");
    if (!name) {
      this._note("<voice> has no name, so the voice stays the same");
      return;
    }
    this._known.language(name);
    this._speakAs({ ...this._manner, voice: name });
  }
}

function checkLength(name, value) {
  const count = length(value);
  if (count > LONGEST_LINK) {
    throw new InputError(`'${name}' has ${count} characters; ${LONGEST_LINK} are the most.`);
  }
}
