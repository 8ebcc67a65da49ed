/**
 * Words in capitals among words in capitals, as in a heading or a shout, are the same words as in small letters.
 *
 * An initialism stays one: what the lexicon has in capitals (NATO), or does not have at all (HTML), makes nothing a
 * shout, and is read as the part of speech that it has there.
 */

import { isAlnum, isAlpha } from "./python.js";

const NO_PRONOUN_AFTER = ["DT", "JJ", "PRP$"];
const ADVERBS = ["TODAY", "TONIGHT", "TOMORROW", "YESTERDAY"]; // which are tagged as nouns

/** Which pieces of a text are words of a run of two or more words in capitals, one of which is no initialism.
 *
 * isInitialism: whether a word in capitals may be more than a word written large.
 * @param {string[]} texts @param {(word: string) => boolean} isInitialism @returns {boolean[]} */
export function amongCapitals(texts, isInitialism) {
  const large = texts.map(() => false);
  let run = [];
  [...texts, "end"].forEach((text, place) => {
    const letters = text.replace(/['‘’]/g, "");
    if (isAlpha(letters) && letters === letters.toUpperCase() && letters !== letters.toLowerCase()) {
      run.push(place);
    } else if ([...text].some(isAlnum)) {
      const shouted = run.length > 1 && run.some((at) => [...texts[at]].length > 1 && !isInitialism(texts[at]));
      if (shouted) for (const at of run) large[at] = true;
      run = [];
    }
  });
  return large;
}

/** Tags of pieces, given those that they have in small letters and those as they stand.
 *
 * What would be a pronoun where none stands, after an article or before a noun, is none: THE US ARMY, an IT FIRM, but
 * GIVE US MONEY, WITH US TODAY.
 * @param {string[]} texts @param {string[]} small @param {string[]} tags @param {boolean[]} large
 * @returns {string[]} */
export function tagsAmongCapitals(texts, small, tags, large) {
  return tags.map((tag, place) => {
    const before = small[place - 1] ?? "";
    const after = ADVERBS.includes(texts[place + 1]) ? "" : (small[place + 1] ?? "");
    const noun = NO_PRONOUN_AFTER.includes(before) || (after.startsWith("NN") && !before.startsWith("VB"));
    return large[place] && !(small[place] === "PRP" && noun) ? small[place] : tag;
  });
}
