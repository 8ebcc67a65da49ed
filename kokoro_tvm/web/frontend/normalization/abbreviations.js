/** Words in short: titles before names, parts of books before numbers, and the usual others. */

import { Pattern, capitalize, endOf, isUpper } from "../python.js";
import { anyOf, inOrder, rewrite } from "./rules.js";

const TITLES = {
  Prof: "Professor", Gen: "General", Col: "Colonel", Sgt: "Sergeant", Lt: "Lieutenant", Capt: "Captain",
  Maj: "Major", Sen: "Senator", Rep: "Representative", Gov: "Governor", Rev: "Reverend", Hon: "Honorable",
  Cpl: "Corporal", Cmdr: "Commander", Adm: "Admiral", Pres: "President", Supt: "Superintendent", Mt: "Mount",
  Ft: "Fort",
};
const NUMBERED = {
  p: "page", pp: "pages", fig: "figure", figs: "figures", vol: "volume", vols: "volumes", ch: "chapter",
  chap: "chapter", sec: "section", art: "article", eq: "equation", eqs: "equations", nos: "numbers",
  tel: "telephone", ext: "extension", ca: "circa", c: "circa", op: "opus", pt: "part", app: "appendix",
};
const WORDS = {
  "e.g": "for example", "i.e": "that is", approx: "approximately", dept: "department", govt: "government",
  cf: "compare", incl: "including", excl: "excluding", est: "established",
};
const NAMED = {
  Inc: "Incorporated", Ltd: "Limited", Corp: "Corporation", Jr: "Junior", Sr: "Senior", Bros: "Brothers",
};
const TITLE = new Pattern(`(?<!\\w)(?P<short>${anyOf(Object.keys(TITLES))})\\.(?= [A-Z])`);
const OTHER = new Pattern(
  `(?<![\\w.])(?:(?P<numbered>${anyOf(Object.keys(NUMBERED))})\\. ?(?=\\d|[IVX]+\\b)` +
    `|(?P<word>${anyOf(Object.keys(WORDS))})\\.(?!\\w)` +
    "|(?P<without>w/o\\b)|(?P<with>w/(?=\\s)))",
  "i",
);
const NAME = new Pattern(`(?<=[\\w,] )(?P<short>${anyOf(Object.keys(NAMED))})\\.(?!\\w)(?P<ends>$|(?= [A-Z]))?`);

/** Prof. Hall is Professor Hall, Smith Jr. is Smith Junior; Mr. and Dr. are left to misaki's rules.
 * @param {string} text */
export function titles(text) {
  return inOrder([
    ...rewrite(TITLE, text, (match) => TITLES[match.groups.short]),
    ...rewrite(NAME, text, (match) => NAMED[match.groups.short] + full(match)),
  ]);
}

/** Fig. 3 is figure 3, e.g. is for example; etc. and vs. are left to misaki's rules. @param {string} text */
export function others(text) {
  return rewrite(OTHER, text, (match) => {
    const { numbered, word, without } = match.groups;
    if (match.groups.with || without) return match.groups.with ? "with" : "without";
    if (numbered) return `${cased(NUMBERED[plain(numbered)], match[0])} `;
    return cased(WORDS[plain(word)], match[0]) + full(match);
  });
}

/** A full stop where a text ends with what is read. */
const full = (match) => (endOf(match) === match.input.length ? "." : "");
/** With the letters for which a pattern takes others where upper and lower case are alike. */
const plain = (word) => word.toLowerCase().replaceAll("ſ", "s").replaceAll("ı", "i").replaceAll("\u0307", "");
const cased = (word, written) => (isUpper([...written][0]) ? capitalize(word) : word);
