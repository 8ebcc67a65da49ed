/** Words that no lexicon has: by letter-to-sound, else spelled. (Python's front end may ask espeak-ng before.) */

import { Letters, plainLetters } from "./letters.js";
import { Lexicon } from "./lexicon.js";

/** What reads words that no lexicon has. */
export class UnknownWords {
  /** @param {import("./data.js").EnglishData} data @param {boolean} british */
  constructor(data, british) {
    this._lexicon = new Lexicon(data.gold, data.silver, british);
    this._letters = new Letters(data.letters);
  }

  /** Phonemes of a word and where they are from; null where it is not written in Latin letters.
   * @param {string} word @returns {[string, string] | null} */
  read(word) {
    const letters = plainLetters(word);
    if (!letters) return null;
    const read = /[aeiouy]/.test(letters) && letters.length > 1 ? this._letters.read(letters) : null;
    if (read) return [read, "letters"];
    const spelled = this._lexicon.spell(letters);
    return spelled ? [spelled, "spelled"] : null;
  }
}
