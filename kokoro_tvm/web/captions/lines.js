/**
 * Division of words into readable cues: at most two lines of 42 characters, and 7 seconds.
 *
 * Broadcasters and streaming services require these limits. A cue ends with a sentence if possible, else with a
 * clause, near the middle.
 */

import { abbreviationIn, beginsSentence } from "../abbreviations.js";
import { length, split, strip } from "../characters.js";

/** @typedef {import("../words.js").TimedWord} TimedWord */

const MOST_CHARACTERS = 42; // per line
const MOST_LINES = 2;
const MOST_SECONDS = 7;
const LONGEST_GAP = 0.6; // seconds; a longer silence ends a cue
const OPENING = new Set("\"'“‘«¿¡([{—-*_#");
const ENDED = /[.!?…。！？]["'”’»)\]}*_]*$/;
const CLAUSE_ENDED = /[,;:—、，；：]["'”’»)\]}*_]*$/;

/**
 * A word as shown, with its marks, in seconds. `joined`: no space before it.
 * @typedef {{text: string, start: number, end: number, joined: boolean}} CueWord
 */

/**
 * What is on screen from `start` to `end` in seconds, by line.
 * @typedef {{start: number, end: number, lines: CueWord[][]}} Cue
 */

/**
 * Divide words with their marks into cues; every word is in one of them, in order.
 * @param {CueWord[]} words
 * @returns {Cue[]}
 */
export function cues(words) {
  return sentences(words)
    .flatMap(parts)
    .map((part) => ({ start: part[0].start, end: part[part.length - 1].end, lines: inLines(part) }));
}

/** Return the lines of a cue with line breaks. @param {Cue} cue */
export const textOf = (cue) => cue.lines.map(shown).join("\n");

/**
 * Attach marks to the words that they touch; an opening mark goes to the next word.
 * @param {TimedWord[]} timeline
 * @returns {CueWord[]}
 */
export function wordsShown(timeline) {
  /** @type {CueWord[]} */
  const result = [];
  let opening = ""; // marks before the next word
  let touchesBefore = false; // whether they touch the previous word
  let [first, end] = [-1, -1]; // of the last word, in the source
  for (const word of timeline) {
    // The rest of a divided word, or symbols that stand for nothing in the text.
    if ((word.source[0] === first && word.source[1] === end) || !strip(word.text)) continue;
    const text = split(word.text).join(" ");
    const glue = word.joined ? "" : " ";
    if (word.spoken) {
      const joined = opening ? touchesBefore : word.joined;
      result.push({ text: opening ? opening + glue + text : text, start: word.start, end: word.end, joined });
      opening = "";
    } else if (opening) {
      opening += glue + text;
    } else if (!result.length || (!word.joined && [...text].every((char) => OPENING.has(char)))) {
      [opening, touchesBefore] = [text, word.joined];
    } else {
      result[result.length - 1].text += glue + text;
    }
    [first, end] = word.source;
  }
  if (opening && result.length) result[result.length - 1].text += ` ${opening}`;
  return result;
}

/** Return words as a line shows them. @param {CueWord[]} words */
export const shown = (words) =>
  words.map((word, place) => (word.joined || !place ? "" : " ") + word.text).join("");

function sentences(words) {
  /** @type {CueWord[][]} */
  const result = [];
  for (const word of words) {
    const sentence = result[result.length - 1];
    const before = sentence?.[sentence.length - 1];
    if (!before || ended(before, word) || word.start - before.end > LONGEST_GAP) result.push([word]);
    else sentence.push(word);
  }
  return result;
}

function ended(word, following) {
  const abbreviation = word.text.endsWith(".") ? abbreviationIn(word.text.slice(0, -1)) : null;
  if (abbreviation === null) return ENDED.test(word.text);
  const first = [...following.text].findIndex((char) => !OPENING.has(char));
  return first >= 0 && beginsSentence([...following.text].slice(first).join(""), abbreviation);
}

/** Halve words until every part is readable. @returns {CueWord[][]} */
function parts(words) {
  const isShort = words[words.length - 1].end - words[0].start <= MOST_SECONDS;
  if (words.length === 1 || (isShort && fits(words))) return [words];
  const cut = middle(words);
  return [...parts(words.slice(0, cut)), ...parts(words.slice(cut))];
}

const isLine = (words) => words.length === 1 || length(shown(words)) <= MOST_CHARACTERS;

function fits(words) {
  const lines = inLines(words);
  return lines.length <= MOST_LINES && lines.every(isLine);
}

/** Return one line if it fits, else two of similar length, else more. */
function inLines(words) {
  if (isLine(words)) return [words];
  const cut = middle(words);
  const halves = [words.slice(0, cut), words.slice(cut)];
  return halves.every(isLine) ? halves : halves.flatMap(inLines);
}

/** Return where to divide: near the middle, preferably after a mark and at silence, never inside a word. */
function middle(words) {
  const whole = length(shown(words));
  let [best, least, before] = [1, Infinity, 0];
  for (let cut = 1; cut < words.length; cut++) {
    const [word, following] = [words[cut - 1], words[cut]];
    before += length(word.text) + (cut > 1 && !word.joined ? 1 : 0);
    const off = Math.abs(2 * before - whole) / whole;
    const mark = CLAUSE_ENDED.test(word.text) ? 0.3 : 0;
    const cost = off - mark - Math.min(0.2, following.start - word.end) + (following.joined ? 2 : 0);
    if (cost < least) [best, least] = [cut, cost];
  }
  return best;
}
