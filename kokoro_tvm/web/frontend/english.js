/**
 * English text to phonemes: tokenizer, tagger, lexicon, and letters for what no lexicon has.
 *
 * It does what misaki 0.9.4 (hexgrad, Apache-2.0) does with spaCy's tagger, without either.
 */

import { CONSONANTS, VOWELS, restress } from "./alphabet.js";
import { amongCapitals, tagsAmongCapitals } from "./capitals.js";
import { Homographs } from "./homographs.js";
import { Lexicon, NOTHING, stressOf } from "./lexicon.js";
import { PAUSES, Part, allJoints, group, join, settle } from "./parts.js";
import { isSpace, lstrip } from "./python.js";
import { moved } from "./source.js";
import { Tagger } from "./tagger.js";
import { Tokenizer } from "./tokenizer.js";
import { UnknownWords } from "./unknown.js";

/** @typedef {import("./lexicon.js").Context} Context */
/** @typedef {import("./source.js").Link} Link */

// The model's symbols for the tap of American "better" and for the glottal stop.
const WRITTEN = { ɾ: "T", ʔ: "t" };
/** Parts of a word that are looked up together. No lexicon has a word of more than 13, and with any number of them the
 * time for "a@a@a@..." would grow with the cube of its length. */
const LONGEST = 20;

/** The front end of American or British English. */
export class English {
  /** @param {import("./data.js").EnglishData} data @param {boolean} british */
  constructor(data, british) {
    this._tokenizer = new Tokenizer(data.tokenizer);
    this._tagger = new Tagger(data.tagger);
    this._homographs = data.homographs && new Homographs(data.homographs);
    this._lexicon = new Lexicon(data.gold, data.silver, british);
    this._unknown = new UnknownWords(data, british);
  }

  /** The words and marks of a text in order, with their places in its source; its links are followed.
   *
   * A word whose `origin` is "" has no phonemes.
   * @param {import("./source.js").SourceText} source @returns {import("./tokens.js").Token[]} */
  convert(source) {
    const text = lstrip(source.text);
    const lead = source.text.length - text.length;
    const words = group(this._tag(text, source.links.map((link) => moved(link, -lead))));
    let context = NOTHING;
    for (const word of [...words].reverse()) context = this._read(word, context);
    return words.map((word) => {
      const { text, start, end, phonemes, space, tag, origin } = join(word);
      const [first, last] = source.span(lead + start, lead + end);
      const written = (phonemes ?? "").replace(/[ɾʔ]/g, (symbol) => WRITTEN[symbol]);
      return { text, start: first, end: last, phonemes: written, space, tag, origin };
    });
  }

  /** Parts of a text with their tags, and with what the links ask of them. */
  _tag(text, links) {
    const pieces = [...cut(this._tokenizer.split(text), links)];
    const large = amongCapitals(pieces.map((piece) => piece.text), (word) => this._lexicon.isInitialism(word));
    const small = pieces.map((piece, index) => (large[index] ? { ...piece, text: piece.text.toLowerCase() } : piece));
    const tagged = this._tagger.tag(small);
    const readings = this._homographs?.read(small.map((piece) => piece.text), tagged.tags, tagged.states);
    const tags = large.includes(true)
      ? tagsAmongCapitals(pieces.map((piece) => piece.text), tagged.tags, this._tagger.tag(pieces).tags, large)
      : tagged.tags;
    /** @type {Part[]} */
    const parts = [];
    /** @type {Link | null} */
    let spoken = null;
    pieces.forEach((piece, index) => {
      if (isSpace(piece.text)) {
        if (parts.length) parts[parts.length - 1].space = " ";
        return;
      }
      const end = piece.start + piece.text.length;
      let part = new Part(piece.text, piece.start, end, tags[index], piece.space ? " " : "");
      part.reading = readings?.[index] ?? null;
      part.large = large[index];
      const link = links.find((each) => each.start < end && each.end > piece.start);
      if (link) part.stress = link.stress;
      if (link && link.phonemes !== null) {
        // What a link spans is one word, spoken where it begins.
        part.settle(link === spoken ? "" : link.phonemes, link.origin);
        if (link === spoken) part = join([parts.pop(), part]);
        spoken = link;
      }
      parts.push(part);
    });
    return parts;
  }

  /** Give a word its phonemes; `context` is what follows it, and the result what it is to others. */
  _read(word, context) {
    if (word.length > 1) return this._readParts(word, context);
    const [part] = word;
    if (part.phonemes === null) {
      const found = this._lookUp(part, context) ?? this._unknown.read(part.text);
      if (found) part.settle(...found);
    }
    if (part.phonemes === null && PAUSES.has(part.text)) part.settle(part.text, "mark");
    return before(context, part.phonemes ?? "", part);
  }

  /** The longest parts a lexicon knows, from the end of the word to its beginning. */
  _readParts(word, context) {
    let right = word.length;
    let guessed = false; // whether the whole word was: it stays unknown
    while (right) {
      const known = this._longest(word, right, context);
      if (known) {
        const { left, found, whole } = known;
        word[left].settle(...found);
        for (const part of word.slice(left + 1, right)) part.settle("", found[1]);
        context = before(context, found[0], whole);
        right = left;
        continue;
      }
      right--;
      if (!word[right].isOpen) continue;
      if (allJoints(word[right].text)) {
        word[right].settle("", "mark");
        continue;
      }
      const guess = guessed ? null : this._unknown.read(join(word).text);
      guessed = true;
      if (guess) {
        word[0].settle(...guess);
        for (const part of word.slice(1)) part.settle("", guess[1]);
        return context;
      }
    }
    settle(word);
    return context;
  }

  /** The most parts before `right` that are known together; null where even the last one is not. */
  _longest(word, right, context) {
    for (let left = Math.max(0, right - LONGEST); left < right; left++) {
      const parts = word.slice(left, right);
      if (!parts.every((part) => part.isOpen)) continue;
      const whole = join(parts);
      const found = this._lookUp(whole, context);
      if (found) return { left, found, whole };
    }
    return null;
  }

  /** Phonemes by lexicon, and that they are its. @returns {[string, string] | null} */
  _lookUp(part, context) {
    const spelled = part.text.replace(/[‘’]/g, "'").normalize("NFKC");
    const stress = part.large ? null : stressOf(spelled);
    if (part.reading !== null) return [restress(restress(part.reading, stress), part.stress), "lexicon"];
    const phonemes = this._lexicon.read(spelled, part.tag, context, stress);
    return phonemes === null ? null : [restress(phonemes, part.stress), "lexicon"];
  }
}

/** The pieces, cut where phonemes are given for a part of one: the rest of it is read too. */
function* cut(pieces, links) {
  const given = links.filter((link) => link.phonemes !== null);
  const edges = [...new Set(given.flatMap((link) => [link.start, link.end]))].sort((a, b) => a - b);
  for (const piece of pieces) {
    const end = piece.start + piece.text.length;
    const places = [piece.start, ...edges.filter((edge) => piece.start < edge && edge < end), end];
    if (places.length === 2) {
      yield piece;
      continue;
    }
    for (let index = 0; index + 1 < places.length; index++) {
      const [first, last] = [places[index], places[index + 1]];
      const text = piece.text.slice(first - piece.start, last - piece.start);
      yield { text, start: first, space: piece.space && last === end, norm: "" };
    }
  }
}

/** The context of what stands before `part`, which says `phonemes` and is followed by `context`.
 * @returns {Context} */
function before(context, phonemes, part) {
  const symbol = [...phonemes].find((each) => PAUSES.has(each) || VOWELS.has(each) || CONSONANTS.has(each));
  let vowel = context.vowel;
  if (symbol !== undefined) vowel = PAUSES.has(symbol) ? null : VOWELS.has(symbol);
  const to = part.text === "to" || part.text === "To" || (part.text === "TO" && ["TO", "IN"].includes(part.tag));
  return { vowel, to };
}
