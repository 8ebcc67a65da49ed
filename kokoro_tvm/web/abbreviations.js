/**
 * Whether the point of an abbreviation ends a sentence as well.
 *
 * A title's never does, for a name follows it: Dr. Smith. Others do where the next word begins one (Kiss and Strunk,
 * "Unsupervised multilingual sentence boundary detection", 2006, call these words frequent sentence starters): in the
 * U.S. Navy, but in the U.S. The Navy.
 */

import WORDS from "./abbreviation_words.js";
import { Pattern, capitalize, isUpper } from "./frontend/python.js";

const LAST_WORD = new Pattern("(?:[^\\W\\d_]\\.){0,10}[^\\W\\d_]{1,20}$");
const NEXT_WORD = new Pattern("([^\\W\\d_]{1,20}(?:['’][^\\W\\d_]{1,8})?)(?![\\w.])");
const NAMED_AFTER = new Set(WORDS.titles);
const ABBREVIATIONS = new Set([...WORDS.titles, ...WORDS.others]);
const HOURS = new Set(["a.m", "p.m"]);
const BEGINNINGS = new Set(WORDS.beginnings);
const DAYS = new Set(WORDS.dates);

/** The abbreviation, or the initial, that a text ends with in front of its point; null where there is none.
 * @param {string} before @returns {string | null} */
export function abbreviationIn(before) {
  const word = LAST_WORD.search(before)?.[0];
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
  const found = NEXT_WORD.match(after)?.[1];
  if (found === undefined || NAMED_AFTER.has(abbreviation) || !isUpper([...found][0])) return false;
  const word = found.replace("’", "'");
  if (abbreviation === "etc" || (HOURS.has(abbreviation) && word !== word.toUpperCase())) {
    return !DAYS.has(word.toLowerCase());
  }
  return word === capitalize(word) && BEGINNINGS.has(word.toLowerCase());
}
