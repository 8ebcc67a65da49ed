/**
 * Parts of words on their way to phonemes: tagged, cut, grouped to words, and put together again.
 *
 * How words are cut and grouped is misaki's way (hexgrad, Apache-2.0; misaki/en.py).
 */

import { PRIMARY, restress, weight } from "./alphabet.js";
import { allFigures, isAlnum, isAlpha, isSpace } from "./python.js";
import { cut } from "./subtokens.js";

/** Marks that stand for a pause or a change of tone. */
export const PAUSES = new Set(";:,.!?—…");
/** Marks inside a word that are not spoken. */
export const JOINTS = new Set("',-._‘’/");
/** Where phonemes come from that no lexicon has; "" for none at all. */
const GUESSES = ["espeak", "letters", "spelled", ""];

const MARKS = new Set([...PAUSES, '"', "“", "”"]);
// Tags of marks (https://github.com/explosion/spaCy/blob/master/spacy/glossary.py), and the symbols of some.
const MARK_TAGS = new Set([".", ",", "-LRB-", "-RRB-", "``", '""', "''", ":", "$", "#", "NFP"]);
const BY_TAG = new Map([["-LRB-", "("], ["-RRB-", ")"], ["``", "“"], ['""', "”"], ["''", "”"]]);

/**
 * A word or a piece of one.
 *
 * text, start, end, tag, space, phonemes, origin: see Token; null in `phonemes` while they are not known. stress:
 * what a link asks for; apart: whether a space is spoken before it inside a word.
 */
export class Part {
  /** @param {string} text @param {number} start @param {number} end @param {string} tag @param {string} [space] */
  constructor(text, start, end, tag, space = "") {
    this.text = text;
    this.start = start;
    this.end = end;
    this.tag = tag;
    this.space = space;
    /** @type {string | null} */
    this.phonemes = null;
    this.origin = "";
    /** @type {number | null} */
    this.stress = null;
    this.apart = false;
    /** Whether it is in capitals because its neighbours are. */
    this.large = false;
    /** Phonemes of a word of two readings. @type {string | null} */
    this.reading = null;
  }

  /** Whether it is still to be read as it stands. */
  get isOpen() {
    return this.phonemes === null;
  }

  /** Take these phonemes. @param {string} phonemes @param {string} origin */
  settle(phonemes, origin) {
    this.phonemes = phonemes;
    this.origin = origin;
  }
}

/** Whether a text is joints alone. @param {string} text */
export const allJoints = (text) => [...text].every((char) => JOINTS.has(char));

/** Words, each as its parts; marks and what has its phonemes already are words of one part.
 * @param {Part[]} tokens @returns {Part[][]} */
export function group(tokens) {
  /** @type {Part[][]} */
  const words = [];
  let growing = false; // whether the last word may take another part
  for (const token of tokens) {
    for (const part of token.isOpen ? cutPart(token) : [token]) {
      if (!part.isOpen) {
        // It has its phonemes.
      } else if (part.tag === ":" && (part.text === "-" || part.text === "–")) {
        part.settle("—", "mark");
      } else if (MARK_TAGS.has(part.tag) && ![...part.text].some(isAlnum)) {
        const marks = [...part.text].filter((char) => MARKS.has(char)).join("");
        part.settle(BY_TAG.get(part.tag) ?? marks, "mark");
      }
      const word = words[words.length - 1];
      if (!part.isOpen) {
        words.push([part]);
        growing = false;
      } else if (growing && !word[word.length - 1].space) {
        word.push(part);
      } else {
        words.push([part]);
        growing = !part.space;
      }
    }
  }
  return words;
}

function cutPart(token) {
  const parts = cut(token.text).map(([place, text]) => {
    const start = token.start + place;
    const part = new Part(text, start, start + text.length, token.tag);
    part.stress = token.stress;
    part.large = token.large;
    return part;
  });
  if (parts.length === 1) parts[0].reading = token.reading;
  parts[parts.length - 1].space = token.space;
  return parts;
}

/** One part of several, the same where it is alone; its phonemes are null as long as none has any.
 *
 * Its tag is that of the part with the most capitals and letters.
 * @param {Part[]} parts @returns {Part} */
export function join(parts) {
  const [first, last] = [parts[0], parts[parts.length - 1]];
  if (parts.length === 1) return first;
  const stresses = new Set(parts.map((part) => part.stress).filter((stress) => stress !== null));
  const text = parts.slice(0, -1).map((part) => part.text + part.space).join("") + last.text;
  const weights = parts.map((part) => [...part.text].reduce((n, c) => n + (c === c.toLowerCase() ? 1 : 2), 0));
  const heaviest = parts[weights.indexOf(Math.max(...weights))];
  const whole = new Part(text, first.start, last.end, heaviest.tag, last.space);
  for (const part of parts) {
    if (part.phonemes === null) continue;
    const before = whole.phonemes ?? "";
    const gap = part.apart && before && part.phonemes && !isSpace(before[before.length - 1]);
    whole.phonemes = before + (gap ? " " : "") + part.phonemes;
  }
  whole.origin = originOf(parts);
  whole.stress = stresses.size === 1 ? [...stresses][0] : null;
  whole.apart = first.apart;
  whole.large = parts.every((part) => part.large);
  return whole;
}

/** Where the phonemes of a word come from: a guess where one of its parts does, else its first sound's. */
function originOf(parts) {
  const found = parts.filter((part) => part.phonemes !== "" || part.origin).map((part) => part.origin);
  const guessed = found.find((origin) => GUESSES.includes(origin));
  return guessed ?? parts.find((part) => part.phonemes)?.origin ?? found[0] ?? "";
}

/** Finish a word that was read part by part: joints are silent, and only so many parts keep the stress.
 * @param {Part[]} parts */
export function settle(parts) {
  const text = join(parts).text;
  const kinds = new Set([...text].filter((char) => !JOINTS.has(char)).map(kind));
  const apart = text.includes(" ") || text.includes("/") || kinds.size > 1;
  parts.forEach((part, index) => {
    if (part.phonemes !== null) part.apart = apart && index > 0;
    else if (index === parts.length - 1 && PAUSES.has(part.text)) part.settle(part.text, "mark");
    else if (allJoints(part.text)) part.settle("", "mark");
  });
  if (apart) return;
  const inOrder = parts
    .map((part, index) => ({ stressed: (part.phonemes ?? "").includes(PRIMARY), index, phonemes: part.phonemes ?? "" }))
    .filter((sound) => sound.phonemes);
  const sounds = [...inOrder].sort(
    (a, b) => Number(a.stressed) - Number(b.stressed) || weight(a.phonemes) - weight(b.phonemes) || a.index - b.index,
  );
  const stressed = sounds.filter((sound) => sound.stressed).length;
  let weaker = sounds.slice(0, sounds.length >> 1);
  if (sounds.length === 2 && [...parts[inOrder[0].index].text].length === 1) weaker = [inOrder[1]];
  else if (sounds.length < 2 || stressed <= (sounds.length + 1) >> 1) weaker = [];
  for (const { index, phonemes } of weaker) parts[index].phonemes = restress(phonemes, -0.5);
}

function kind(char) {
  if (isAlpha(char)) return "letter";
  return allFigures(char) ? "figure" : "mark";
}
