/** The one door from text to phonemes, with notices of what was guessed or left out. */

import { InputError } from "../errors.js";
import { LANGUAGES } from "../voices.js";
import { FrontEndFile } from "./data.js";
import { English } from "./english.js";
import { leftOut } from "./left_out.js";
import { normalize } from "./normalization/index.js";
import { Language } from "./normalization/language.js";
import { paragraphs } from "./paragraphs.js";
import { UserLexicon } from "./user_lexicon.js";

/** @typedef {import("./tokens.js").Token} Token */
/** @typedef {import("./tokens.js").Utterance} Utterance */

/**
 * utterances: one for each paragraph, with places in the whole text; notices: which words were guessed or left out, in
 * sentences.
 *
 * @typedef {{utterances: Utterance[], notices: string[]}} Reading
 */

/** Text to phonemes by the data of a bundle: American and British English. */
export class FrontEnd {
  /** @param {FrontEndFile | null} file null: the bundle has none, and speaks phonemes alone
   * @param {UserLexicon} [lexicon] a user's words @param {Record<string, string>} [languages] the bundle's, by their letters */
  constructor(file, lexicon = new UserLexicon([]), languages = LANGUAGES) {
    this.lexicon = lexicon;
    this._languages = languages;
    this._file = file;
    /** @type {Map<string, English>} */
    this._english = new Map();
    /** @type {Map<string, Language>} */
    this._forms = new Map();
  }

  /** The front end of a bundle's `front_end.safetensors`. @param {Uint8Array} data @param {UserLexicon} [lexicon]
   * @returns {Promise<FrontEnd>} rejected with a BundleError where it has another layout */
  static async open(data, lexicon) {
    return new FrontEnd(await FrontEndFile.open(data), lexicon);
  }

  /** A text with its links, in the language of `code`.
   *
   * Throws an InputError where the bundle has no front end for it: Python needs a program or a package for it.
   * @param {import("./source.js").SourceText} source @param {string} code @returns {Reading} */
  read(source, code) {
    if (!this._file || (code !== "a" && code !== "b")) {
      throw new InputError(
        `${this._languages[code] ?? "This"} text cannot be turned into phonemes in a browser: it needs a program or a package ` +
          "that runs with Python alone. Choose an American or British voice, or give phonemes instead of text.",
      );
    }
    const english = this._of(code);
    const forms = this._formsOf(code);
    const normal = paragraphs(source).map((part) => normalize(this.lexicon.linked(part), forms, true));
    const read = normal.map((part) => english.convert(part.source));
    const said = [...normal.flatMap((part) => part.notices), ...guessed(read.flat())];
    const lost = new Set(normal.flatMap((part, place) => [...leftOut(part.plain, read[place])]));
    if (lost.size) said.push(`Left out, because there are no phonemes for it: ${[...lost].join(" ")}`);
    return { utterances: read.map((tokens) => ({ tokens, pause: null })), notices: [...new Set(said)] };
  }

  _formsOf(code) {
    const forms = this._forms.get(code) ?? new Language(this._file.english(false).forms, code);
    this._forms.set(code, forms);
    return forms;
  }

  _of(code) {
    const british = code === "b";
    const english = this._english.get(code) ?? new English(this._file.english(british), british);
    this._english.set(code, english);
    return english;
  }
}

/** A notice of words that were read by their letters. @param {Token[]} tokens @returns {string[]} */
function guessed(tokens) {
  const words = new Set(tokens.filter(({ origin }) => ["letters", "spelled"].includes(origin)).map(({ text }) => text));
  if (!words.size) return [];
  return [
    `Read by their letters, because the lexicon does not have them: ${[...words].join(" ")}. Give their phonemes, ` +
      "[word](/phonemes/).",
  ];
}
