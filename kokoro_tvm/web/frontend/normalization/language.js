/** How written forms of a language are found and said: its file of rules, compiled by the build's stage `front_end`. */

import { Pattern, allFigures, back, isDigit, partition } from "../python.js";
import { anyOf } from "./rules.js";
import { spellOut } from "./spellout.js";

/**
 * What a word of a list stands for: words, or words by plural form ("one", "other"), and its gender.
 *
 * @typedef {string | Record<string, string>} Item
 */

/**
 * A written form: kind, pattern and what is said for it; see `Rule` in runtime/text/frontend/normalization/language.py.
 *
 * @typedef {{pattern: string, say: string, types: Record<string, string>, after?: string, not_after?: string,
 *   where?: string, first?: string, begins?: string, lead?: string, only?: string, needs?: string[]}} Rule
 */

// Combining marks of the scripts here.
const MARKS = "\u0300-\u036f\u0900-\u0963";
// Numbers that are no figures: ², ½, ①.
const NUMBERS =
  "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793" +
  "\u3192-\u3195\u3220-\u3229\u3248-\u324f\u3251-\u325f\u3280-\u3289\u32b1-\u32bf";
/** A letter, as a regular expression. */
export const LETTER = `(?:[^\\W\\d_${NUMBERS}]|[${MARKS}])`;
/** Of a class of characters, its regular expression; W is a letter, a figure or a low line. */
const CHARACTERS = { L: LETTER, W: `(?:\\w|[${MARKS}])` };
const MACRO = /\{(?:(?<group>[a-z]\w*)|(?<named>[a-z]\w*)?:(?<type>[A-Za-z]\w*))\}/g;
const LONGEST = 66; // figures of a number that may have a name
const NEAR = 40; // characters before a form that decide whether it is one

/** The rules of one language. */
export class Language {
  /** @param {any} data what the stage compiled @param {string} code the letter of LANGUAGES, for rules of one variant */
  constructor(data, code) {
    /** @type {Map<string, Map<string, Item>>} */
    this.lists = mapped(data.lists, mapped);
    /** @type {Map<string, {match: string, say: string}>} */
    this.types = mapped(data.types);
    /** @type {Map<string, string>} */
    this.signs = mapped(data.signs);
    /** Letters that are read; others are left out, or written with these. */
    this.letters = compiled(`[${data.letters}]+`);
    /** @type {Map<string, string>} */
    this.replacements = mapped(data.replacements);
    /** What stands between words. @type {string} */
    this.joint = data.numbers.joint;
    this._rules = data.rules.filter(({ only }) => !only || only.includes(code));
    this._numbers = data.numbers;
    this._singular = compiled(data.numbers.singular);
    this._sets = mapped(data.spellout.sets, (rules) =>
      rules.map(([least, divisor, text]) => [BigInt(least), BigInt(divisor), text]),
    );
    this._names = data.spellout.names;
    /** Whether numbers are also said with "and". */
    this.saysAnd = "full" in this._names;
    this._beginning = new Map();
    this._compiled = new Map();
    this._figure = data.numbers.figures.length ? data.numbers.figures : [..."0123456789"].map((one) => this.spell(one));
  }

  /** Rules of what may begin with a character, in order; kind: "l" letter, "d" figure, "s" sign, "ps" a point with a
   * figure behind it.
   * @param {string} char @param {string} kind @returns {Rule[]} */
  beginning(char, kind) {
    let rules = this._beginning.get(char + kind);
    if (!rules) {
      const begin = ({ first = "", begins = "" }) => first.includes(char) || [...kind].some((one) => begins.includes(one));
      rules = this._rules.filter(begin);
      this._beginning.set(char + kind, rules);
    }
    return rules;
  }

  /** The form of a rule at a place of a text. @param {Rule} rule @param {string} text @param {number} place */
  match(rule, text, place) {
    if (rule.lead && !this._compiled.has(rule.pattern) && !this._pattern(`{:${rule.lead}}`).match(text, place)) {
      return null; // before it is compiled, which takes long
    }
    const match = this._pattern(rule.pattern).match(text, place);
    if (!match || !match[0]) return null;
    const before = rule.after || rule.not_after ? text.slice(back(text, place, NEAR), place) : "";
    if (rule.after && !this._pattern(rule.after).search(before)) return null;
    return rule.not_after && this._pattern(rule.not_after).search(before) ? null : match;
  }

  /** A pattern of the rules, compiled when it is first asked for. @param {string} pattern */
  _pattern(pattern) {
    const found = this._compiled.get(pattern) ?? compiled(this._written(pattern));
    this._compiled.set(pattern, found);
    return found;
  }

  /** A whole number in words, as `name` of the language's `spellout`; figure by figure where it has no words for one so
   * large. One with a point is a decimal.
   * @param {string} figures @param {string} [name] @param {string} [gender] @returns {string} */
  spell(figures, name = "cardinal", gender = "") {
    if (!allFigures(figures)) return this.number(figures, gender);
    const named = this._names[`${name}-${gender}`] ?? this._names[name];
    const words = figures.length <= LONGEST ? spellOut(BigInt(figures), this._sets, named) : null;
    return words ?? this.figures(figures);
  }

  /** Figures one by one. @param {string} figures */
  figures(figures) {
    return Array.from(figures.match(/[0-9]/g) ?? [], (figure) => this._figure[Number(figure)]).join(this.joint);
  }

  /** A number, as `plain` gives it, in words. @param {string} plain @param {string} [gender] */
  number(plain, gender = "") {
    const [whole, point, rest] = partition(plain, ".");
    const words = whole ? this.spell(whole, "cardinal", gender) : "";
    if (!point) return words;
    const other = rest.replace(/^0+/, "");
    const after =
      this._numbers.decimals === "figures" || !other
        ? [this.figures(rest)]
        : [this.figures(rest.slice(0, rest.length - other.length)), this.spell(other)];
    return [words, this._numbers.point, ...after].filter((part) => part).join(this.joint);
  }

  /** A number's figures, with a point before its decimals: of two separators the last stands before them, and one that
   * stands twice does not. @param {string} written */
  plain(written) {
    const marks = written.match(/[.,]/g) ?? [];
    const last = marks[marks.length - 1];
    const repeated = marks.indexOf(last) < marks.length - 1;
    const grouped = marks.length === 1 && last !== this._numbers.decimal && partition(written, last)[2].length >= 3;
    const decimal = repeated || grouped ? "" : last;
    return Array.from(written, (char) => (char === decimal ? "." : isDigit(char) ? char : "")).join("");
  }

  /** Whether a word counted by a number stands in the singular. @param {string} number */
  isOne(number) {
    return this._singular.fullmatch(number.replace(/^0+/, "") || "0") !== null;
  }

  /** A pattern with its macros written out: {name:type}, {type} for a group of that name, {:type} for none of any. */
  _written(pattern) {
    return pattern.replace(MACRO, (...found) => {
      const { group, named, type } = found[found.length - 1];
      const [kind, name] = [group ?? type, group ?? named];
      const list = this.lists.get(kind);
      const inner = CHARACTERS[kind] ?? (list ? anyOf(list.keys()) : this._written(this.types.get(kind).match));
      return name ? `(?P<${name}>${inner})` : `(?:${inner})`;
    });
  }
}

const compiled = (pattern) => new Pattern(pattern);

/** The entries of an object, which has keys that its prototype has too. */
const mapped = (entries, value = (one) => one) =>
  new Map(Object.entries(entries).map(([key, one]) => [key, value(one)]));
