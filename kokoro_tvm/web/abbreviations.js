/**
 * Whether the point of an abbreviation ends a sentence as well.
 *
 * A title's never does, for a name follows it: Dr. Smith. Others do where the next word begins one (Kiss and Strunk,
 * "Unsupervised multilingual sentence boundary detection", 2006, call these words frequent sentence starters): in the
 * U.S. Navy, but in the U.S. The Navy.
 */

import { Pattern, capitalize, isUpper } from "./frontend/python.js";

const wordsOf = (text) => new Set(text.split(" "));
const LAST_WORD = new Pattern("(?:[^\\W\\d_]\\.){0,10}[^\\W\\d_]{1,20}$");
const NEXT_WORD = new Pattern("([^\\W\\d_]{1,20}(?:['’][^\\W\\d_]{1,8})?)(?![\\w.])");
const NAMED_AFTER = wordsOf(
  "mr mrs ms dr prof rev hon gen col maj capt lt sgt cpl pres gov sen rep messrs mme mlle sra srta sig mt vs e.g " +
  "i.e cf approx z.b bzw",
);
const ABBREVIATIONS = wordsOf(
  "mr mrs ms dr prof rev hon gen col maj capt lt sgt cpl pres gov sen rep messrs mme mlle sra srta sig mt vs e.g " +
  "i.e cf approx z.b bzw st sr jr etc al dept est fig figs eq no nos vol vols ch pp p ed eds inc ltd co corp bros " +
  "usw ave blvd rd ft jan feb apr jun jul aug sep sept oct nov dec ph.d",
);
const HOURS = wordsOf("a.m p.m");
const BEGINNINGS = wordsOf(
  "a about after all also although among an and another any as at because before both but by despite during each " +
  "even every everyone everything few finally first for from furthermore he he'd he'll he's hence her here his how " +
  "however i i'd i'll i'm i've if in indeed instead it it'd it'll it's its last later like many meanwhile moreover " +
  "most my neither nevertheless next nobody none nor not nothing now of on once one only or other our over perhaps " +
  "several she she'd she'll she's since so some soon still such that that's the their then there there's therefore " +
  "these they they'd they'll they're they've this those though three through thus to today two under unless until " +
  "we we'd we'll we're we've what what's when where whether which while who why with without yet you you'd you'll " +
  "you're you've your",
);
const DAYS = wordsOf(
  "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august " +
  "september october november december eastern pacific central mountain greenwich",
);

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
