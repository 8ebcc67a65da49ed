/**
 * Decision whether the point of an abbreviation also ends a sentence.
 *
 * The point of a title never does, because a name follows: Dr. Smith. The point of another abbreviation does if the
 * next word often begins a sentence (Kiss and Strunk, "Unsupervised multilingual sentence boundary detection", 2006):
 * in the U.S. Navy, but in the U.S. The Navy.
 */

import WORDS from "./abbreviation_words.js";
import { charAt, isUpper } from "./characters.js";

const LETTER = "[\\p{L}\\p{Nl}\\p{No}]"; // letters, and numbers that are not digits
const LAST_WORD = new RegExp(`(?:${LETTER}\\.){0,10}${LETTER}{1,20}(?=\\n?$)`, "u");
const NEXT_WORD = new RegExp(`^${LETTER}{1,20}(?:['’]${LETTER}{1,8})?(?![\\p{L}\\p{N}_.])`, "u");
const NAMED_AFTER = new Set(WORDS.titles);
const ABBREVIATIONS = new Set([...WORDS.titles, ...WORDS.others]);
const HOURS = new Set(["a.m", "p.m"]);
const BEGINNINGS = new Set(WORDS.beginnings);
const DAYS = new Set(WORDS.dates);

/**
 * Return the abbreviation or the initial before the final point of a text, or null.
 * @param {string} before
 * @returns {string | null}
 */
export function abbreviationIn(before) {
  const word = LAST_WORD.exec(before)?.[0];
  if (word === undefined) return null;
  const letters = word.split(".");
  const dotted = letters.length > 1 && letters.every((letter) => [...letter].length === 1);
  const initial = isUpper(word) && word !== "I";
  return dotted || initial || ABBREVIATIONS.has(word.toLowerCase()) ? word.toLowerCase() : null;
}

/**
 * Return whether `after` begins a sentence behind an abbreviation and its point.
 * @param {string} after
 * @param {string} abbreviation
 * @returns {boolean}
 */
export function beginsSentence(after, abbreviation) {
  const result = NEXT_WORD.exec(after)?.[0];
  if (result === undefined || NAMED_AFTER.has(abbreviation)) return false;
  const first = charAt(result, 0);
  if (!isUpper(first)) return false;
  const word = result.replace("’", "'");
  if (abbreviation === "etc" || (HOURS.has(abbreviation) && word !== word.toUpperCase())) {
    return !DAYS.has(word.toLowerCase());
  }
  return word.slice(first.length) === word.slice(first.length).toLowerCase() && BEGINNINGS.has(word.toLowerCase());
}
