/** The one door from text to phonemes, with notices of what was guessed or left out. */

import { InputError } from "../errors.js";
import { LANGUAGES } from "../voices.js";
import { converted, wordsApart } from "./converted.js";
import { FrontEndFile } from "./data.js";
import { English } from "./english.js";
import { leftOut } from "./left_out.js";
import { normalize } from "./normalization/index.js";
import { Language } from "./normalization/language.js";
import { paragraphs } from "./paragraphs.js";
import { Sounds } from "./sounds.js";
import { SourceText } from "./source.js";
import { phonemesOf } from "./tokens.js";
import { UserLexicon } from "./user_lexicon.js";

/** @typedef {import("./tokens.js").Token} Token */
/** @typedef {import("./tokens.js").Utterance} Utterance */

/**
 * utterances: one for each paragraph, with places in the whole text; notices: which words were guessed or left out, in
 * sentences.
 *
 * @typedef {{utterances: Utterance[], notices: string[]}} Reading
 */

const ENGLISH = "ab";
/** The letter of a language that is read by rules, and its name in the file. @type {Record<string, string>} */
const BY_RULES = { e: "es", f: "fr", h: "hi", i: "it", p: "pt" };

/** Text to phonemes by the data of a bundle. */
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
    /** @type {Map<string, Sounds>} */
    this._sounds = new Map();
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
    const rules = this._file?.rules(BY_RULES[code]);
    if (!this._file || !(ENGLISH.includes(code) || rules)) {
      throw new InputError(
        `${this._languages[code] ?? "This"} text cannot be turned into phonemes in a browser: it needs a program or a package ` +
          "that runs with Python alone. Choose a voice of another language, or give phonemes instead of text.",
      );
    }
    const forms = this._formsOf(code);
    const normal = paragraphs(source).map((part) => normalize(this.lexicon.linked(part), forms, !rules));
    const { read, notices } = rules ? this._byRules(normal, code) : this._inEnglish(normal, code);
    const said = [...normal.flatMap((part) => part.notices), ...notices];
    const lost = new Set(normal.flatMap((part, place) => [...leftOut(part.plain, read[place])]));
    if (lost.size) said.push(`Left out, because there are no phonemes for it: ${[...lost].join(" ")}`);
    return { utterances: read.map((tokens) => ({ tokens, pause: null })), notices: [...new Set(said)] };
  }

  _inEnglish(normal, code) {
    const english = this._of(code);
    const read = normal.map((part) => english.convert(part.source));
    return { read, notices: guessed(read.flat()) };
  }

  _byRules(normal, code) {
    const sounds = this._sounds.get(code) ?? new Sounds(this._file.rules(BY_RULES[code]).sounds);
    this._sounds.set(code, sounds);
    const found = normal.map((part) => converted(part.source, sounds));
    const notices = found.flatMap((part) => part.notices);
    const read = found.map(({ tokens }) => wordsApart(tokens.map((token) => this._latinAsEnglish(token, notices))));
    return { read, notices };
  }

  /** A word in Latin letters of a language that has others, read as English; others as they are. */
  _latinAsEnglish(token, notices) {
    if (token.origin !== "latin") return token;
    const reading = this.read(SourceText.of(token.text.normalize("NFKC")), "a");
    notices.push(...reading.notices);
    return { ...token, phonemes: reading.utterances.map(({ tokens }) => phonemesOf(tokens)).join(" "), origin: "english" };
  }

  _formsOf(code) {
    const data = this._file.rules(BY_RULES[code]) ?? this._file.english(false);
    const forms = this._forms.get(code) ?? new Language(data.forms, code);
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
