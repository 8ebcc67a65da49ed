/** The one door from text to phonemes, with notices of what was guessed or left out. */

import { InputError } from "../errors.js";
import { LANGUAGES } from "../voices.js";
import { FrontEndFile } from "./data.js";
import { English } from "./english.js";
import { normalize } from "./normalization/index.js";
import { Language } from "./normalization/language.js";
import { paragraphs } from "./paragraphs.js";
import { isAlnum } from "./python.js";
import { carriesMeaning } from "./tokens.js";
import { UserLexicon } from "./user_lexicon.js";

/** @typedef {import("./tokens.js").Token} Token */
/** @typedef {import("./tokens.js").Utterance} Utterance */

/** Origins that may rightly have no phonemes. */
const SILENT = new Set(["given", "user lexicon", "lexicon"]);

/**
 * utterances: one for each paragraph, with places in the whole text; notices: which words were guessed or left out, in
 * sentences.
 *
 * @typedef {{utterances: Utterance[], notices: string[]}} Reading
 */

/** Text to phonemes by the data of a bundle: American and British English. */
export class FrontEnd {
  /** @param {FrontEndFile} file @param {UserLexicon} [lexicon] a user's words */
  constructor(file, lexicon = new UserLexicon([])) {
    this.lexicon = lexicon;
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

  /** A text with its links, in the language of `code` (a letter of LANGUAGES).
   *
   * Throws an InputError where there is no such language, or where Python needs a program or a package for it.
   * @param {import("./source.js").SourceText} source @param {string} code @returns {Reading} */
  read(source, code) {
    if (!(code in LANGUAGES)) {
      throw new InputError(`There is no language '${code}'. Known: ${Object.keys(LANGUAGES).join(", ")}.`);
    }
    if (code !== "a" && code !== "b") {
      throw new InputError(
        `${LANGUAGES[code]} text cannot be turned into phonemes in a browser: it needs a program or a package that ` +
          "runs with Python alone. Choose an American or British voice, or give phonemes instead of text.",
      );
    }
    const english = this._of(code);
    const forms = this._formsOf(code);
    const normal = paragraphs(source).map((part) => normalize(this.lexicon.linked(part), forms, true));
    const read = normal.map((part) => english.convert(part.source));
    const said = new Set(normal.flatMap((part) => part.notices));
    return {
      utterances: read.map((tokens) => ({ tokens, pause: null })),
      notices: [...said, ...notices(read.flat())],
    };
  }

  _formsOf(code) {
    const forms = this._forms.get(code) ?? new Language(this._file.forms("en"), code);
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

/** @param {Token[]} tokens */
function notices(tokens) {
  const found = [];
  const guessed = distinct(tokens.filter((token) => token.origin === "letters" || token.origin === "spelled"));
  if (guessed) {
    found.push(
      `Read by their letters, because the lexicon does not have them: ${guessed}. Give their phonemes, ` +
        "[word](/phonemes/).",
    );
  }
  const isLost = ({ phonemes, origin, text }) =>
    !phonemes && !SILENT.has(origin) && (origin === "mark" ? [...text].some(isAlnum) : carriesMeaning(text));
  const lost = distinct(tokens.filter(isLost));
  if (lost) found.push(`Left out, because there are no phonemes for it: ${lost}`);
  return found;
}

const distinct = (tokens) => [...new Set(tokens.map((token) => token.text))].join(" ");
