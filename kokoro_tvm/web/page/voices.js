/** Information in a voice's name, and mixes of voices. */

import { compareGrades } from "./grades.js";

/** @typedef {{name: string, title: string, gender: string, code: string}} Voice */
/** @typedef {{name: string, weight: number}} Part of a mix */
/**
 * A language. tag: of BCP 47; sample: a sentence for comparing voices, or "".
 * @typedef {{name: string, tag: string, sample: string}} Language
 */
/** Languages by the first letter of voices' names. @typedef {Map<string, Language>} Languages */

/** @type {Languages} */
export const KOKORO = new Map([
  ["a", { name: "American English", tag: "en-US", sample: "Hello. It is good to hear from you." }],
  ["b", { name: "British English", tag: "en-GB", sample: "Hello. It is good to hear from you." }],
  ["e", { name: "Spanish", tag: "es", sample: "Hola. Me alegro de saber de ti." }],
  ["f", { name: "French", tag: "fr", sample: "Bonjour. Je suis content de vous entendre." }],
  ["h", { name: "Hindi", tag: "hi", sample: "नमस्ते। आपसे बात करके अच्छा लगा।" }],
  ["i", { name: "Italian", tag: "it", sample: "Ciao. È bello sentirti." }],
  ["j", { name: "Japanese", tag: "ja", sample: "こんにちは。お話しできてうれしいです。" }],
  ["p", { name: "Brazilian Portuguese", tag: "pt-BR", sample: "Olá. É bom falar com você." }],
  ["z", { name: "Mandarin Chinese", tag: "zh", sample: "你好。很高兴听到你的声音。" }],
]);
const OTHER = "Other voices";
const GENDERS = new Map([
  ["f", "female"],
  ["m", "male"],
]);
export const MOST_WEIGHT = 10;
export const USUAL_WEIGHT = 5; // of a voice that is new in a mix, with room on both sides

/**
 * Return the languages of a synthesizer, its own or Kokoro's.
 * @param {Record<string, {name: string, tag?: string}> | null} [result]
 * @returns {Languages}
 */
export function languagesFrom(result) {
  if (!result) return KOKORO;
  return new Map(Object.entries(result).map(([code, { name, tag }]) => {
    const kokoro = KOKORO.get(code);
    return [code, kokoro?.name === name ? kokoro : { name, tag: tag ?? "", sample: "" }];
  }));
}

/**
 * Return the language of a letter; the first one under another name for voices without a language.
 * @param {string} code
 * @param {Languages} [languages]
 * @returns {Language}
 */
export function languageOf(code, languages = KOKORO) {
  return languages.get(code) ?? { ...[...languages.values()][0], name: OTHER };
}

/** @param {string} name `af_heart` @param {Languages} [languages] where there is one alone, every voice speaks it
 * @returns {Voice} */
export function describe(name, languages = KOKORO) {
  const [prefix, ...rest] = name.split("_");
  const known = prefix.length === 2 && rest.length > 0 && languages.has(prefix[0]);
  const title = (known ? rest.join(" ") : name).replace(/^\p{L}/u, (letter) => letter.toUpperCase());
  const code = languages.size === 1 ? [...languages.keys()][0] : known ? prefix[0] : "";
  return { name, title, gender: (known && GENDERS.get(prefix[1])) || "", code };
}

/**
 * Return the letters of the languages that a mix may be read in, the default first; none if its voices decide.
 * @param {Part[]} parts
 * @param {Languages} [languages]
 * @param {string[]} [readable] all of them where it is left out
 * @returns {string[]}
 */
export function languagesOf(parts, languages = KOKORO, readable = [...languages.keys()]) {
  const codes = [...new Set(parts.map(({ name }) => describe(name, languages).code))];
  if (codes.length === 1 && codes[0]) return [];
  const first = codes[0] || [...languages.keys()][0];
  const others = (codes.includes("") ? readable : codes).filter((code) => code !== first && languages.has(code));
  return [first, ...others];
}

/**
 * Return whether every word of the query begins a word about a voice: its name, gender or language.
 * @param {string} query
 * @param {string} name
 * @param {Languages} [languages]
 */
export function finds(query, name, languages = KOKORO) {
  const { title, gender, code } = describe(name, languages);
  const words = `${name} ${title} ${gender} ${languageOf(code, languages).name}`.toLowerCase().split(" ");
  return query.toLowerCase().split(/\s+/).every((part) => words.some((word) => word.startsWith(part)));
}

/** @param {string[]} names @param {Languages} [languages]
 * @returns {[string, Voice[]][]} by the letter of their language, in the order of these, the best first */
export function byLanguage(names, languages = KOKORO) {
  const voices = [...names].sort(compareGrades).map((name) => describe(name, languages));
  return [...languages.keys(), ""]
    .map((code) => /** @type {[string, Voice[]]} */ ([code, voices.filter((voice) => voice.code === code)]))
    .filter(([, result]) => result.length > 0);
}

/** @param {Part[]} parts @returns {string} `af_heart(2)+am_adam`, as the server reads it, in the least numbers */
export function writeMix(parts) {
  const divisor = parts.map(({ weight }) => weight).reduce(greatestCommonDivisor, 0);
  const least = parts.map(({ name, weight }) => ({ name, weight: weight / divisor }));
  return least.map(({ name, weight }) => (weight === 1 ? name : `${name}(${weight})`)).join("+");
}

/**
 * @param {string} mix @param {string[]} names all voices
 * @returns {Part[] | null} weights with room for smaller and larger ones; null where it is no mix of these
 */
export function readMix(mix, names) {
  const parts = mix.split("+").map((part) => part.match(/^\s*(\w+)(?:\((\d+)\))?\s*$/));
  const read = parts.map((part) => ({ name: part?.[1] ?? "", weight: Number(part?.[2] ?? 1) }));
  const all = new Set(read.map(({ name }) => name));
  const known = read.every(({ name, weight }) => names.includes(name) && weight >= 1 && weight <= MOST_WEIGHT);
  if (!known || all.size !== read.length) return null;
  const scale = Math.max(1, Math.floor(USUAL_WEIGHT / Math.max(...read.map(({ weight }) => weight))));
  return read.map(({ name, weight }) => ({ name, weight: weight * scale }));
}

/** @param {number} a @param {number} b @returns {number} */
function greatestCommonDivisor(a, b) {
  return b ? greatestCommonDivisor(b, a % b) : a;
}

/** @param {Part[]} parts @param {Languages} [languages] @returns {string} for people: "Heart", "Heart 67 %, Adam 33 %" */
export function titleOf(parts, languages = KOKORO) {
  if (parts.length === 1) return describe(parts[0].name, languages).title;
  const sum = parts.reduce((total, { weight }) => total + weight, 0);
  return parts.map(({ name, weight }) => `${describe(name, languages).title} ${Math.round((100 * weight) / sum)} %`).join(", ");
}
