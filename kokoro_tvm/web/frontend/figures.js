/**
 * Numbers written in figures, as phonemes: years, ranks, money, telephone numbers, decimals.
 *
 * Which way a number is read is misaki's choice (hexgrad, Apache-2.0; misaki/en.py).
 */

import { MOST_FIGURES, cardinal, decimal, ordinal, year } from "./numerals.js";
import { allFigures, digit, isAscii, partition, removeSuffix } from "./python.js";

/** @typedef {import("./lexicon.js").Lexicon} Lexicon */

/** Sign -> the unit and its hundredth part, as they are for one. */
export const CURRENCIES = new Map([
  ["$", ["dollar", "cent"]],
  ["£", ["pound", "pence"]],
  ["€", ["euro", "cent"]],
]);

const RANKS = ["st", "nd", "rd", "th"];
const ENDINGS = ["ing", "'d", "ed", "'s", ...RANKS, "s"];

/**
 * The phonemes of a number; null where it holds nothing to read.
 *
 * text: figures with commas and points, a minus sign perhaps, and an ending ("1980s", "3rd"). begins: whether it
 * begins a word, rather than standing inside one ("B-52"). currency: the sign before it, "" for none. flags: wishes of
 * a link: "a" for "a hundred", "&" for "and" in full, "n" for its short form.
 *
 * @param {{text: string, begins: boolean, currency: string, flags: string}} number @param {Lexicon} lexicon
 */
export function readFigures({ text, begins, currency, flags }, lexicon) {
  const ending = /(?<![a-z'])[a-z']+$/.exec(text)?.[0] ?? "";
  const number = removeSuffix(text, ending);
  const signed = number.startsWith("-");
  const spoken = new Spoken(lexicon, flags);
  if (signed) spoken.say(["minus"]);
  say(spoken, signed ? number.slice(1) : number, ending, signed, begins, currency);
  const phonemes = spoken.words.join(" ");
  if (!phonemes) return null;
  if (ending === "s" || ending === "'s") return lexicon.plural(phonemes);
  if (ending === "ed" || ending === "'d") return lexicon.past(phonemes);
  return ending === "ing" ? lexicon.progressive(phonemes) : phonemes;
}

function say(spoken, number, ending, signed, begins, currency) {
  const bare = number.replaceAll(",", "");
  const points = number.split(".").length - 1;
  const isRank = RANKS.includes(ending);
  if (allFigures(number) && isRank && number.length <= MOST_FIGURES) {
    spoken.say(ordinal(BigInt(number)));
  } else if (!signed && number.length === 4 && !CURRENCIES.has(currency) && allFigures(number)) {
    spoken.say(year(Number(number)));
  } else if (!begins && !points) {
    sayCode(spoken, bare);
  } else if (points > 1 || !begins) {
    bare.split(".").forEach((part, index) => sayPart(spoken, part, index === 0));
  } else if (CURRENCIES.has(currency) && isAmount(number)) {
    sayMoney(spoken, bare, ...CURRENCIES.get(currency));
  } else if (partition(bare, ".")[0].length > MOST_FIGURES) {
    spoken.figures(bare);
  } else if (!points) {
    spoken.say((isRank && !allFigures(number) ? ordinal : cardinal)(BigInt(bare)));
  } else if (bare.startsWith(".")) {
    spoken.say(["point"]);
    spoken.figures(bare.slice(1));
  } else {
    spoken.say(decimal(bare));
  }
}

/** The words of a number as they are found, in phonemes. */
class Spoken {
  constructor(lexicon, flags) {
    this._lexicon = lexicon;
    this._flags = flags;
    /** @type {string[]} */
    this.words = [];
  }

  /** first: whether "one" may be "a", if that was wished for. @param {string[]} words @param {boolean} [first] */
  say(words, first = true) {
    words.forEach((word, index) => {
      if (word === "and" && !this._flags.includes("&")) {
        if (this._flags.includes("n") && this.words.length) this.words[this.words.length - 1] += "ən";
      } else if (word === "one" && first && index === 0 && words.length > 1 && this._flags.includes("a")) {
        this.words.push("ə");
      } else {
        this.add(word, word === "point" ? -2 : null);
      }
    });
  }

  /** A word of the lexicon. @param {string} word @param {number | null} [stress] */
  add(word, stress = null) {
    this.words.push(this._lexicon.lookUp(word, "", stress) ?? "");
  }

  /** A whole number; one too large to have a name is read figure by figure. */
  number(figures, first = true) {
    if (figures.length > MOST_FIGURES) this.figures(figures);
    else this.say(cardinal(BigInt(figures)), first);
  }

  /** One figure after the other; a point by its name. */
  figures(figures) {
    for (const figure of figures) this.say(figure === "." ? ["point"] : cardinal(Number(figure)), false);
  }

  /** A word of the lexicon with the ending -s. */
  units(word) {
    this.words.push(this._lexicon.plural(this._lexicon.lookUp(word) ?? ""));
  }
}

/** Whether a word is a number in figures, perhaps with an ending; a minus sign only where it begins a word.
 * @param {string} word @param {boolean} begins */
export function isFigures(word, begins) {
  if (!/[0-9]/.test(word)) return false;
  const number = removeSuffix(word, ENDINGS.find((ending) => word.endsWith(ending)) ?? "");
  return (begins ? /^-?[0-9,.]*$/ : /^[0-9,.]*$/).test(number);
}

/** `word` with the figures of every script, and those set high or low, as 0 to 9. @param {string} word */
export const plainFigures = (word) => (isAscii(word) ? word : [...word].map((char) => digit(char) ?? char).join(""));

/** Inside a word: three figures as in "seven forty seven", four and more one by one. */
function sayCode(spoken, number) {
  if (number[0] === "0" || number.length > 3) {
    spoken.figures(number);
  } else if (number.length === 3 && !number.endsWith("00")) {
    spoken.number(number[0]);
    if (number[1] === "0") {
      spoken.add("O", -2);
      spoken.number(number[2], false);
    } else {
      spoken.number(number.slice(1), false);
    }
  } else {
    spoken.number(number);
  }
}

/** One part of "192.168.0.1". */
function sayPart(spoken, part, first) {
  if (!part) return;
  if (part[0] === "0" || (part.length !== 2 && /[^0]/.test(part.slice(1)))) spoken.figures(part);
  else spoken.number(part, first);
}

function sayMoney(spoken, number, unit, hundredth) {
  amounts(number, unit, hundredth).forEach(([amount, name], index) => {
    if (index > 0) spoken.add("and");
    spoken.number(amount, index === 0);
    if (BigInt(amount) !== 1n && name !== "pence") spoken.units(name);
    else spoken.add(name);
  });
}

/** What there is of the unit and of its hundredth part; of nothing at all, the unit. */
function amounts(number, unit, hundredth) {
  const [whole, , rest] = partition(number, ".");
  const cents = BigInt(rest || 0) !== 0n;
  const found = BigInt(whole || 0) !== 0n || !cents ? [[whole || "0", unit]] : [];
  return cents ? [...found, [rest, hundredth]] : found;
}

/** Whether what stands behind the point can be cents; "$1.250" is read as a decimal. */
const isAmount = (number) => /^[^.]*(?:\.[^.]{0,2})?$/.test(number);
