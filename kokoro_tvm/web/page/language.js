/** The language of a text, by its letters and its most frequent words. */

import { KOKORO, languageOf } from "./voices.js";

/** Frequent words; English ones that are words of another language too stand in neither list. */
const WORDS = new Map(
  Object.entries({
    a: "the and of to is was it that for with you not are this have be his her they she he we from what there would my your how hello",
    e: "el la los las de y que en un una es por para con del al lo su más pero muy qué está hay como yo ella este sus soy hola días todos",
    f: "le la les de et est un une qui que dans pour pas je vous il elle nous du au ce sur avec ne sont des cette mais où suis très bonjour",
    i: "il la di che è un una non sono con del della gli le si ma più questo mi anche nel alla ho sei dei ed io molto ciao",
    p: "os de que e é um uma não com da em mais mas você ele ela na ao dos das isso está muito eu foi para por olá dia todos",
  }).map(([code, words]) => [code, new Set(words.split(" "))]),
);
const SCRIPTS = /** @type {const} */ ([
  ["j", /[\p{Script=Hiragana}\p{Script=Katakana}]/gu],
  ["z", /\p{Script=Han}/gu],
  ["h", /\p{Script=Devanagari}/gu],
]);
const JAPANESE_SHARE = 0.1; // of kana in Japanese; Chinese has none
const LEAST_WORDS = 2; // different ones in the list of the language
const CLEARER = 2; // times as many as of the language of the voice
const MOST_CHARACTERS = 2000; // that are looked at

/**
 * Return the language of a text if it is clearly not the one in which it is to be read.
 * @param {string} text
 * @param {string} code the letter of the language in which it is to be read
 * @param {import("./voices.js").Languages} [languages] where letters may stand for others than Kokoro's
 * @returns {string} the letter of a language of Kokoro, `a` for all English; "" if `code` may be right
 */
export function otherLanguage(text, code, languages = KOKORO) {
  const isKnown = (/** @type {string} */ letter) => languages.has(letter) && languageOf(letter, languages).name === languageOf(letter).name;
  const other = isKnown(code) ? guess(text, code === "b" ? "a" : code) : "";
  return isKnown(other) ? other : "";
}

/** @param {string} text @param {string} own the letter of the language that it may be in */
function guess(text, own) {
  const start = text.slice(0, MOST_CHARACTERS);
  const letters = start.match(/\p{L}/gu)?.length ?? 0;
  const counts = SCRIPTS.map(([letter, script]) => /** @type {const} */ ([letter, start.match(script)?.length ?? 0]));
  const [[, kana], [, han]] = counts;
  if (2 * (kana + han) > letters) {
    const found = kana > JAPANESE_SHARE * (kana + han) ? "j" : "z";
    return found === own || (own === "j" && !kana) ? "" : found; // Japanese can be without kana
  }
  const [devanagari, count] = counts[2];
  if (2 * count > letters) return own === devanagari ? "" : devanagari;
  const words = new Set(start.toLowerCase().match(/[\p{L}\p{M}]+/gu));
  const hits = new Map([...WORDS].map(([letter, list]) => [letter, [...words].filter((word) => list.has(word)).length]));
  const [[best, most], [, second]] = [...hits].sort(([, one], [, other]) => other - one);
  return best !== own && most > second && most >= LEAST_WORDS && most >= CLEARER * (hits.get(own) ?? 0) ? best : "";
}
