/**
 * Whether the point of an abbreviation ends a sentence as well.
 *
 * A title's never does, for a name follows it: Dr. Smith. Others do where the next word begins one (Kiss and Strunk,
 * "Unsupervised multilingual sentence boundary detection", 2006, call these words frequent sentence starters): in the
 * U.S. Navy, but in the U.S. The Navy.
 */

import WORDS from "./abbreviation_words.js";
import { charAt, isUpper } from "./characters.js";

const LETTER = "[\\p{L}\\p{Nl}\\p{No}]"; // and what is a number, but not of figures
const LAST_WORD = new RegExp(`(?:${LETTER}\\.){0,10}${LETTER}{1,20}(?=\\n?$)`, "u");
const NEXT_WORD = new RegExp(`^${LETTER}{1,20}(?:['’]${LETTER}{1,8})?(?![\\p{L}\\p{N}_.])`, "u");
const NAMED_AFTER = new Set(WORDS.titles);
const ABBREVIATIONS = new Set([...WORDS.titles, ...WORDS.others]);
const HOURS = new Set(["a.m", "p.m"]);
const BEGINNINGS = new Set(WORDS.beginnings);
const DAYS = new Set(WORDS.dates);

/** The abbreviation, or the initial, that a text ends with in front of its point; null where there is none.
 * @param {string} before @returns {string | null} */
export function abbreviationIn(before) {
  const word = LAST_WORD.exec(before)?.[0];
  if (word === undefined) return null;
  const letters = word.split(".");
  const dotted = letters.length > 1 && letters.every((letter) => [...letter].length === 1);
  const initial = isUpper(word) && word !== "I";
  return dotted || initial || ABBREVIATIONS.has(word.toLowerCase()) ? word.toLowerCase() : null;
}

/** Whether a sentence begins with the word that `after` begins with, behind an abbreviation and its point.
 *
 * after: the word and what follows it.
 * @param {string} after @param {string} abbreviation @returns {boolean} */
export function beginsSentence(after, abbreviation) {
  const found = NEXT_WORD.exec(after)?.[0];
  if (found === undefined || NAMED_AFTER.has(abbreviation)) return false;
  const first = charAt(found, 0);
  if (!isUpper(first)) return false;
  const word = found.replace("’", "'");
  if (abbreviation === "etc" || (HOURS.has(abbreviation) && word !== word.toUpperCase())) {
    return !DAYS.has(word.toLowerCase());
  }
  return word.slice(first.length) === word.slice(first.length).toLowerCase() && BEGINNINGS.has(word.toLowerCase());
}
