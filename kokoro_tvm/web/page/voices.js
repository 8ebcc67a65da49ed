/** What a voice's name says, what it says of itself, and mixes of voices. */

/** @typedef {{name: string, title: string, gender: string, code: string}} Voice */
/** @typedef {{name: string, weight: number}} Part of a mix */

/** Letter of a language -> its name, its tag, a sentence to know a voice by. */
export const LANGUAGES = new Map([
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
const OTHER = { name: "Other voices", tag: "en", sample: "Hello. It is good to hear from you." };
const USUAL_LANGUAGE = "a"; // of a voice whose name says none
const GENDERS = new Map([
  ["f", "female"],
  ["m", "male"],
]);
export const MOST_WEIGHT = 10;
export const USUAL_WEIGHT = 5; // of a voice that is new in a mix: room on both sides

/** @param {string} code the letter of a language */
export function languageOf(code) {
  return LANGUAGES.get(code) ?? OTHER;
}

/** @param {string} name `af_heart` @returns {Voice} */
export function describe(name) {
  const [prefix, ...rest] = name.split("_");
  const known = prefix.length === 2 && rest.length > 0 && LANGUAGES.has(prefix[0]);
  const title = (known ? rest.join(" ") : name).replace(/^\p{L}/u, (letter) => letter.toUpperCase());
  return { name, title, gender: (known && GENDERS.get(prefix[1])) || "", code: known ? prefix[0] : "" };
}

/** Letters of the languages that a mix may be read in, the one that it is read in first; none where its voices say it.
 * @param {Part[]} parts @param {string[]} [readable] all languages where it is left out @returns {string[]} */
export function languagesOf(parts, readable = [...LANGUAGES.keys()]) {
  const codes = [...new Set(parts.map(({ name }) => describe(name).code))];
  if (codes.length === 1 && codes[0]) return [];
  const first = codes[0] || USUAL_LANGUAGE;
  return [first, ...(codes.includes("") ? readable : codes).filter((code) => code !== first)];
}

/** Whether every word that was typed begins a word about a voice: its name, gender or language.
 * @param {string} query @param {string} name */
export function finds(query, name) {
  const { title, gender, code } = describe(name);
  const words = `${name} ${title} ${gender} ${languageOf(code).name}`.toLowerCase().split(" ");
  return query.toLowerCase().split(/\s+/).every((part) => words.some((word) => word.startsWith(part)));
}

/** @param {string[]} names @returns {[string, Voice[]][]} by the letter of their language, in LANGUAGES' order */
export function byLanguage(names) {
  const voices = names.map(describe);
  return [...LANGUAGES.keys(), ""]
    .map((code) => /** @type {[string, Voice[]]} */ ([code, voices.filter((voice) => voice.code === code)]))
    .filter(([, found]) => found.length > 0);
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

/** @param {Part[]} parts @returns {string} for people: "Heart", "Heart 67 % and Adam 33 %" */
export function titleOf(parts) {
  if (parts.length === 1) return describe(parts[0].name).title;
  const sum = parts.reduce((total, { weight }) => total + weight, 0);
  return parts.map(({ name, weight }) => `${describe(name).title} ${Math.round((100 * weight) / sum)} %`).join(", ");
}
