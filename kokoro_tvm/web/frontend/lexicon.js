/**
 * Words to phonemes by lexicon: spelling, part of speech, what is spoken next, and the endings of English.
 *
 * The rules are those of misaki 0.9.4 (hexgrad, Apache-2.0; misaki/en.py): the voices were trained on what they give.
 */

import { PRIMARY, SECONDARY, restress } from "./alphabet.js";
import { capitalize, charAt, isAlpha, isAscii, length, rpartition } from "./python.js";

/** @typedef {import("./dictionary.js").Entry} Entry */
/** @typedef {import("./dictionary.js").Dictionary} Dictionary */

/**
 * What is spoken after a word. vowel: whether it begins with a vowel, null for a pause or nothing; to: whether it is
 * "to".
 *
 * @typedef {{vowel: boolean | null, to: boolean}} Context
 */

/** @type {Context} */
export const NOTHING = { vowel: null, to: false };

// Sounds after which an American t between vowels is tapped.
const TAPPING = new Set("AIOWYiuæɑəɛɪɹʊʌ");
const SYMBOLS = { "%": "percent", "&": "and", "+": "plus", "@": "at" };
const ADDRESS_SYMBOLS = { ".": "dot", "/": "slash" }; // in what is tagged as an address
const VERSUS = /^v[sSſ]\.?$/i;
const DOUBLED = /([bcdgklmnprstvxz])\1ing$|cking$/;
const CLASSES = [["VB", "VERB"], ["NN", "NOUN"], ["ADV", "ADV"], ["RB", "ADV"], ["ADJ", "ADJ"], ["JJ", "ADJ"]];
// Stress of a word with a capital, and of one of capitals alone.
const [CAPITAL, CAPITALS] = [0.5, 2];

/** The stress that its capitals give a word; null where it has none. @param {string} word */
export const stressOf = (word) =>
  word === word.toLowerCase() ? null : word === word.toUpperCase() ? CAPITALS : CAPITAL;

/** The lexicon of one English. */
export class Lexicon {
  /** gold: checked by hand, with parts of speech; silver: generated, looked up second.
   * @param {Dictionary} gold @param {Dictionary} silver @param {boolean} british */
  constructor(gold, silver, british) {
    this.british = british;
    this._gold = gold;
    this._silver = silver;
  }

  /** Phonemes of a word as a part of speech; null where neither it nor its stem is known.
   *
   * stress: what it gets, as `restress` takes it.
   * @param {string} word @param {string} tag @param {Context} context @param {number | null} stress
   * @returns {string | null} */
  read(word, tag, context, stress) {
    const special = this._special(word, tag, stress, context);
    if (special !== null) return special;
    if (this._isCapitalised(word, tag) && this._knowsLower(word.toLowerCase(), tag, stress, context)) {
      word = word.toLowerCase();
    }
    for (const spelling of withoutApostrophe(word)) {
      if (this._knows(spelling)) return this.lookUp(spelling, tag, stress, context);
    }
    return (
      this._withS(word, tag, stress, context) ||
      this._withEd(word, tag, stress, context) ||
      this._withIng(word, tag, stress ?? 0.5, context)
    );
  }

  /** The entry of a word of the lexicon, or its letters; null where a letter has no name.
   *
   * context: null where nothing is known of what follows, as inside a number.
   * @param {string} word @param {string} [tag] @param {number | null} [stress] @param {Context | null} [context]
   * @returns {string | null} */
  lookUp(word, tag = "", stress = null, context = null) {
    let isName = false;
    if (word === word.toUpperCase() && of(this._gold, word) === null) {
      word = word.toLowerCase();
      isName = tag === "NNP";
    }
    let entry = of(this._gold, word);
    if (entry === null && !isName) entry = of(this._silver, word);
    const phonemes = choose(entry, tag, context);
    if (phonemes === null || (isName && !phonemes.includes(PRIMARY))) {
      const spelled = this.spell(word);
      if (spelled !== null || phonemes === null) return spelled;
    }
    return restress(phonemes, stress);
  }

  /** Whether a word in capitals may be more than a known one written large: US, NATO, HTML. @param {string} word */
  isInitialism(word) {
    return this._gold.get(word) !== null || !this._has(word.toLowerCase());
  }

  /** The names of the letters of a word, the last of them stressed. @param {string} word @returns {string | null} */
  spell(word) {
    const letters = [...word].filter(isAlpha);
    const names = letters.map((letter) => choose(this._gold.get(letter.toUpperCase()), "", null));
    if (names.includes(null) || !names.length) return null;
    const spoken = restress(names.join(""), 0);
    const [head, mark, tail] = rpartition(spoken, SECONDARY);
    return mark ? head + PRIMARY + tail : spoken;
  }

  /** `phonemes` with the sound of the ending -s. @param {string} phonemes */
  plural(phonemes) {
    const last = phonemes[phonemes.length - 1];
    if ("ptkfθ".includes(last)) return `${phonemes}s`;
    return phonemes + ("szʃʒʧʤ".includes(last) ? (this.british ? "ɪz" : "ᵻz") : "z");
  }

  /** `phonemes` with the sound of the ending -ed. @param {string} phonemes */
  past(phonemes) {
    const last = phonemes[phonemes.length - 1];
    if ("pkfθʃsʧ".includes(last)) return `${phonemes}t`;
    if (last === "d") return phonemes + (this.british ? "ɪd" : "ᵻd");
    if (last !== "t") return `${phonemes}d`;
    if (this.british || phonemes.length < 2) return `${phonemes}ɪd`;
    return TAPPING.has(phonemes[phonemes.length - 2]) ? `${phonemes.slice(0, -1)}ɾᵻd` : `${phonemes}ᵻd`;
  }

  /** `phonemes` with the sound of the ending -ing; null for what a British stem has lost before it.
   * @param {string} phonemes */
  progressive(phonemes) {
    const last = phonemes[phonemes.length - 1];
    if (this.british && "əː".includes(last)) return null;
    const taps = !this.british && last === "t" && TAPPING.has(phonemes[phonemes.length - 2]);
    return taps ? `${phonemes.slice(0, -1)}ɾɪŋ` : `${phonemes}ɪŋ`;
  }

  /** Words whose sound depends on more than their spelling and part of speech. */
  _special(word, tag, stress, context) {
    if (tag === "ADD" && Object.hasOwn(ADDRESS_SYMBOLS, word)) {
      return this.lookUp(ADDRESS_SYMBOLS[word], "", -0.5, context);
    }
    if (Object.hasOwn(SYMBOLS, word)) return this.lookUp(SYMBOLS[word], "", null, context);
    if (isAbbreviation(word)) return this.spell(word);
    if (tag === "IN" && VERSUS.test(word)) return this.lookUp("versus", "", null, context);
    const lower = word.toLowerCase();
    // Of capitals alone it is a word only as the part of speech that the word has.
    switch ([lower, capitalize(lower), lower.toUpperCase()].includes(word) ? lower : "") {
      case "a":
        return tag === "DT" ? "ɐ" : "ˈA";
      case "am":
        return this._am(word, tag, stress, context);
      case "an":
        return word === "AN" && tag.startsWith("NN") ? this.spell(word) : "ɐn";
      case "i":
        return word === "I" && tag === "PRP" ? `${SECONDARY}I` : null;
      case "by":
        return classOf(tag) === "ADV" ? "bˈI" : null;
      case "to":
        if (word === "TO" && tag !== "TO" && tag !== "IN") return null;
        return context.vowel === null ? this.lookUp("to") : context.vowel ? "tʊ" : "tə";
      case "in":
        if (word === "IN" && tag === "NNP") return null;
        return context.vowel !== null && tag === "IN" ? "ɪn" : `${PRIMARY}ɪn`;
      case "the":
        return word !== "THE" || tag === "DT" ? (context.vowel ? "ði" : "ðə") : null;
      case "used": {
        const past = (tag === "VBD" || tag === "JJ") && context.to;
        return choose(this._gold.get("used"), past ? "VBD" : "DEFAULT", null);
      }
      default:
        return null;
    }
  }

  _am(word, tag, stress, context) {
    if (tag.startsWith("NN")) return this.spell(word);
    const strong = context.vowel === null || word !== "am" || (stress ?? 0) > 0;
    return strong ? choose(this._gold.get("am"), "", null) : "ɐm";
  }

  /** Whether a word unknown with its capitals may be a known one written large; short names are not. */
  _isCapitalised(word, tag) {
    const rest = word.slice(charAt(word, 0).length);
    return (
      rest !== "" &&
      isAlpha(word.replaceAll("'", "")) &&
      word !== word.toLowerCase() &&
      (tag !== "NNP" || length(word) > 7) &&
      !this._has(word) &&
      (word === word.toUpperCase() || rest === rest.toLowerCase())
    );
  }

  _knowsLower(word, tag, stress, context) {
    return Boolean(
      this._has(word) ||
        this._withS(word, tag, stress, context) ||
        this._withEd(word, tag, stress, context) ||
        this._withIng(word, tag, stress, context),
    );
  }

  /** Whether `lookUp` has phonemes for it: words, symbols, single letters, words in capitals. */
  _knows(word) {
    if (Object.hasOwn(SYMBOLS, word) || this._has(word)) return true;
    if (!(isAlpha(word) && isAscii(word))) return false;
    if (word.length === 1 || (word === word.toUpperCase() && of(this._gold, word.toLowerCase()) !== null)) return true;
    return word.slice(1) === word.slice(1).toUpperCase();
  }

  _has(word) {
    return of(this._gold, word) !== null || of(this._silver, word) !== null;
  }

  _withS(word, tag, stress, context) {
    const count = length(word);
    if (count < 3 || !word.endsWith("s")) return null;
    return this._ended(word, tag, stress, context, "plural", [
      [word.slice(0, -1), !word.endsWith("ss")],
      [word.slice(0, -2), word.endsWith("'s") || (count > 4 && word.endsWith("es") && !word.endsWith("ies"))],
      [`${word.slice(0, -3)}y`, count > 4 && word.endsWith("ies")],
    ]);
  }

  _withEd(word, tag, stress, context) {
    const count = length(word);
    if (count < 4 || !word.endsWith("d")) return null;
    return this._ended(word, tag, stress, context, "past", [
      [word.slice(0, -1), !word.endsWith("dd")],
      [word.slice(0, -2), count > 4 && word.endsWith("ed") && !word.endsWith("eed")],
    ]);
  }

  _withIng(word, tag, stress, context) {
    const count = length(word);
    if (count < 5 || !word.endsWith("ing")) return null;
    return this._ended(word, tag, stress, context, "progressive", [
      [word.slice(0, -3), count > 5],
      [`${word.slice(0, -3)}e`, true],
      [word.slice(0, -4), count > 5 && DOUBLED.test(word)],
    ]);
  }

  /** The first possible stem that is known, with the sound of an ending. */
  _ended(word, tag, stress, context, ending, stems) {
    const found = stems.find(([stem, possible]) => possible && this._knows(stem));
    const phonemes = found ? this.lookUp(found[0], tag, stress, context) : null;
    return phonemes ? this[ending](phonemes) : null;
  }
}

/** The entry of a word, or of the same one with or without a capital first letter.
 * @param {Dictionary} dictionary @param {string} word @returns {Entry | null} */
function of(dictionary, word) {
  const entry = dictionary.get(word);
  if (entry !== null || length(word) < 2) return entry;
  const lower = word.toLowerCase();
  if (word === lower) return dictionary.get(capitalize(word));
  return word === capitalize(lower) ? dictionary.get(lower) : null;
}

/** The phonemes of an entry as a part of speech; of one that knows a form before a pause, that form. */
function choose(entry, tag, context) {
  if (entry === null || typeof entry === "string") return entry;
  if (context !== null && context.vowel === null && "None" in entry) return entry.None;
  const own = Object.hasOwn(entry, tag) ? tag : classOf(tag);
  return Object.hasOwn(entry, own) ? entry[own] : entry.DEFAULT;
}

/** The part of speech of a tag as the lexicon names it: NOUN for NNS; the tag where it has no other. */
const classOf = (tag) => CLASSES.find(([start]) => tag.startsWith(start))?.[1] ?? tag;

/** Letters with points between them, one or two at a time: U.S., e.g. */
function isAbbreviation(word) {
  const inner = word.replace(/^\.+|(?<!\.)\.+$/g, "");
  return inner.includes(".") && isAlpha(word.replaceAll(".", "")) && word.split(".").every((part) => length(part) < 3);
}

/** The word, and how it may stand in the lexicon where an apostrophe ends it. */
function withoutApostrophe(word) {
  if (word.endsWith("s'")) return [word, `${word.slice(0, -2)}'s`, word.slice(0, -1)];
  return word.endsWith("'") ? [word, word.slice(0, -1)] : [word];
}
