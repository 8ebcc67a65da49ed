/** Letter-to-sound by rules: words of a language whose spelling says how they sound.
 *
 * A word passes through the rules of its language one pass after the other, first alone, then in a line with the words and
 * marks around it (liaison, assimilation, stress at the end of a clause).
 */

import { MARKS } from "../marks.js";
import { escape, rpartition } from "./python.js";
import { EDGE, Pass } from "./rewriting.js";
import { LATIN } from "./tokens.js";

/** @typedef {import("./tokens.js").Token} Token */

const LETTER = "[\\p{L}\\p{M}\\u200c\\u200d]"; // with the joiners of Devanagari
const PART = new RegExp(`(?<word>${LETTER}(?:'?${LETTER})*'?)|(?<mark>[${[...MARKS].map(escape).join("")}।॥])`, "gu");
const BEGINS_LATIN = new RegExp(`^${LATIN}`);
const SPOKEN_MARKS = new Map([["।", "."], ["॥", "."], ["«", "“"], ["»", "”"]]);

/** The letter-to-sound rules of one language. */
export class Sounds {
  /** @param {any} data what the front end's file has of the language */
  constructor(data) {
    this._letters = new Set(data.letters);
    this._replacements = new Map(Object.entries(data.replacements));
    this._tags = new Map(Object.entries(data.tags));
    this._words = new Map(Object.entries(data.words));
    this._passes = data.passes.map((each) => new Pass(each));
    this._clauses = data.clauses.map((each) => new Pass(each));
  }

  /** The words and marks of a text, with their places in it; a word in Latin letters of a language that has others stays as
   * it is, of the origin "latin". @param {string} text @returns {Token[]} */
  tokens(text) {
    const parts = [...text.matchAll(PART)];
    let line = EDGE + parts.map((part) => EDGE + this._part(part)).join("") + EDGE + EDGE;
    for (const each of this._clauses) line = each.apply(line);
    const spoken = line.slice(2, -2).split(EDGE);
    return parts.map((part, index) => {
      const end = part.index + part[0].length;
      const following = parts[index + 1]?.index ?? text.length;
      const token = { text: part[0], start: part.index, end, space: end < following ? " " : "", tag: "" };
      if (part.groups.mark) return { ...token, phonemes: spoken[index], origin: "mark" };
      const latin = BEGINS_LATIN.test(part[0]) && !this._spelled(part[0]).replaceAll("'", "");
      return { ...token, phonemes: latin ? part[0] : spoken[index], origin: latin ? "latin" : "rules" };
    });
  }

  _part(part) {
    if (part.groups.mark) return SPOKEN_MARKS.get(part[0]) ?? part[0];
    const [clitic, apostrophe, word] = rpartition(this._spelled(part[0]), "'");
    if (!clitic && !word) return "";
    let text = EDGE + (this._tags.get(word) ?? "") + clitic + apostrophe + (this._words.get(word) ?? word) + EDGE;
    for (const each of this._passes) text = each.apply(text);
    return text.replaceAll(EDGE, "").replaceAll("'", "");
  }

  /** The small letters of a word that the language has; others by those they are replaced with. @param {string} word */
  _spelled(word) {
    return [...word.toLowerCase()].map((char) => (this._letters.has(char) ? char : (this._replacements.get(char) ?? ""))).join("");
  }
}
