/** Places of words in the text that they were read from, and beginnings of its sentences. */

const FARTHEST = 400; // maximum distance between two words in characters (markup, symbols)
const WORD = /[\p{L}\p{N}]/u;
const SENTENCE_END = /[.!?…]["'”’»)\]]*\s+|[。！？]["'”’»)\]]*\s*|\n\s*/g;

/** Search for words one after the other, each behind the one before it. */
export class Alignment {
  #last = ""; // the previous word
  #from;

  /** @param {string} text @param {number} [from] where what is spoken begins, of which words know their places */
  constructor(text, from = 0) {
    this.text = text;
    this.reached = this.#from = from;
  }

  /**
   * Return a word's slice of the text, or null.
   * @param {import("./synthesizer.js").Word} word
   * @returns {[number, number] | null} its slice of the text; null where it does not stand there, or is the rest of
   *   the word before it, which was divided
   */
  place(word) {
    const [start, end] = word.source?.map((place) => this.#from + place) ?? this.#find(word.word);
    this.#last = word.word;
    if (start < this.reached || end <= start) return null;
    this.reached = end;
    return [start, end];
  }

  /** @param {string} word @returns {[number, number]} */
  #find(word) {
    const ahead = this.text.slice(this.reached, this.reached + FARTHEST + word.length);
    const at = word ? ahead.indexOf(word) : -1;
    const isRest = word === this.#last && WORD.test(ahead.slice(0, Math.max(0, at)));
    return at < 0 || isRest ? [-1, -1] : [this.reached + at, this.reached + at + word.length];
  }
}

/**
 * Return the place of the first character of a sentence.
 * @param {string} text
 * @param {number} place of a character
 * @returns {number} of the first character of its sentence
 */
export function sentenceStart(text, place) {
  let start = 0;
  for (const end of text.slice(0, place).matchAll(SENTENCE_END)) start = end.index + end[0].length;
  return Math.min(start, place);
}

/**
 * Return whether a word is not a mark.
 * @param {string} word
 * @returns {boolean} whether it is a word and no mark
 */
export function isWord(word) {
  return WORD.test(word);
}
