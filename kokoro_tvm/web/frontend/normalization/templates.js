/** What is said for a written form: a template, with the parts of the form in words. */

import { Pattern, allFigures, digit, endOf, length } from "../python.js";

/** @typedef {import("./language.js").Item} Item */
/** @typedef {import("./language.js").Language} Language */
/** @typedef {import("./language.js").Rule} Rule */

const PART = new Pattern("\\{(?P<group>\\w+)(?:\\|(?P<verb>[\\w-]+)(?::(?P<by>\\w+))?)?\\}|(?P<mark>[\\[\\]])");
const PIECE = new Pattern("[0-9]+|[^\\W\\d_]+|[^ ]");
const PARTED = new Pattern("[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\\W\\d_a-zA-Z]+|[^ ]"); // at capitals too
const ROMAN = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };
const FORMS = ["", "one", "form", "minor"]; // verbs of a counted word
const QUANTITIES = ["hundredths", "roman", "whole", "raised"]; // verbs of figures that are written in other ways

/** The words of a form whose parts are `groups`. What stands in [] is said where all of its parts are there, and not
 * empty.
 * @param {Language} language @param {Rule} rule @param {Record<string, string | undefined>} groups
 * @param {(text: string) => string} read what reads a part by the rules again */
export function say(language, rule, groups, read) {
  const form = new Form(language, rule, groups, read);
  const open = [{ words: "", whole: true }]; // the template, and what in [] is being said
  let done = 0;
  for (const match of PART.finditer(rule.say)) {
    const { group, verb = "", by = "", mark } = match.groups;
    open[open.length - 1].words += rule.say.slice(done, match.index);
    done = endOf(match);
    if (mark === "[") {
      open.push({ words: "", whole: true });
    } else if (mark === "]") {
      const inner = open.pop();
      if (inner.whole) open[open.length - 1].words += inner.words;
    } else {
      const spoken = form.part(group, verb, by);
      open[open.length - 1].words += spoken;
      open[open.length - 1].whole &&= spoken !== "";
    }
  }
  return open[0].words + rule.say.slice(done);
}

/** A form's parts, and what can be made of each. */
class Form {
  constructor(language, rule, groups, read) {
    /** @type {Language} */
    this._language = language;
    /** @type {Rule} */
    this._rule = rule;
    this._groups = groups;
    this._read = read;
  }

  /** A part as `verb` says it, or its type where there is none; "" for one that is not there.
   * @param {string} group @param {string} verb @param {string} by @returns {string} */
  part(group, verb, by) {
    const written = this._groups[group];
    if (!written) return "";
    if (this._list(group) && FORMS.includes(verb)) return this._form(this._item(group), verb, by);
    verb ||= this._saidAs(group);
    switch (verb) {
      case "number":
        return this._language.number(this._quantity(group), this._gender(by));
      case "figures":
        return this._language.figures(written);
      case "spelled":
        return Array.from(written.normalize("NFKC").match(/[0-9]+|[^0-9]/gu), (piece) =>
          allFigures(piece) ? this._language.spell(piece) : piece.toUpperCase(),
        ).join(" ");
      case "pieces":
      case "parted":
        return this._pieces((verb === "parted" ? PARTED : PIECE).findall(written), this._language.lists.get(by));
      case "read":
        return this._read(written);
      case "lower":
        return written.toLowerCase();
      case "":
        return written;
    }
    const name = QUANTITIES.includes(verb) ? "cardinal" : verb;
    return this._language.spell(this._quantity(group, verb), name, this._gender(by));
  }

  /** The number a part stands for, as figures with a point. */
  _quantity(group, verb = "") {
    const written = this._groups[group] ?? "";
    switch (QUANTITIES.includes(verb) ? verb : this._saidAs(group)) {
      case "hundredths":
        return String(Number(`${written}0`.slice(0, 2)));
      case "roman": {
        const values = [...written.toUpperCase()].filter((letter) => letter in ROMAN).map((letter) => ROMAN[letter]);
        return String(values.reduce((sum, v, i) => sum + (v < Math.max(...values.slice(i)) ? -v : v), 0));
      }
      case "whole":
        return written.replace(/[^0-9]/g, "");
      case "raised":
        return [...written].map(digit).join("");
    }
    return this._language.plain(written);
  }

  _list(group) {
    return this._language.lists.get(this._rule.types[group]);
  }

  _saidAs(group) {
    return this._language.types.get(this._rule.types[group])?.say ?? "";
  }

  /** @returns {Item | undefined} */
  _item(group) {
    return this._list(group)?.get(this._groups[group] ?? "");
  }

  _gender(group) {
    const item = this._item(group);
    return typeof item === "object" ? (item.gender ?? "") : "";
  }

  /** The form of a counted word: "form" by the number in the part `by`, "minor" likewise of its hundredth part, "one" for
   * one; else that for several. */
  _form(item, verb, by) {
    if (typeof item === "string") return item;
    const one = verb === "one" || (by && this._language.isOne(this._quantity(by)));
    const lead = verb === "minor" ? "minor_" : "";
    return item[`${lead}${one ? "one" : "other"}`] || (item[`${lead}other`] ?? "");
  }

  /** Every word, number and sign of what has no spaces: signs by their names in a list. */
  _pieces(pieces, names) {
    const named = (piece) => {
      const name = names.get(piece) || names.get(piece.toLowerCase());
      return typeof name === "string" ? name : undefined;
    };
    const spoken = pieces.flatMap((piece) => {
      const name = named(piece);
      if (name !== undefined) return [name];
      if (allFigures(piece)) return Array.from(piece, (figure) => named(figure) ?? this._language.figures(figure));
      return [length(piece) === 1 ? piece.toUpperCase() : piece];
    });
    return spoken.join(this._language.joint);
  }
}
