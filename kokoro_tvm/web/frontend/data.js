/** The front end's data in a bundle, in one safetensors file: tagger, tokenizer, lexicon, written forms and rules of
 * letter-to-sound. */

import { BundleError } from "../errors.js";
import { readSafetensors } from "../safetensors.js";
import { Dictionary, unpacked } from "./dictionary.js";

/** The version of the layout, in the tensor `format`. */
const FORMAT = 5;
/** Layers of the tagger over a word and its neighbours. */
const LAYERS = 4;
/** In a dictionary's value, what stands between its parts, and within one. */
const [BETWEEN, WITHIN] = ["\x1e", "\x1f"];

/**
 * What one English needs: rules, tagger and written forms, which both share, its lexicon, gold and silver, its model
 * of letter-to-sound, and words of two readings, null where its tagger is another one than they were learned with.
 *
 * @typedef {{tokenizer: import("./tokenizer.js").TokenizerRules, tagger: import("./tagger.js").TaggerData,
 *   forms: any, gold: Dictionary, silver: Dictionary, letters: Dictionary,
 *   homographs: import("./homographs.js").HomographData | null}} EnglishData
 */

/** What a language needs that is read by rules: its written forms, and letter-to-sound. @typedef {{forms: any, sounds: any}} RulesData */

/** What a front end reads of a file, unpacked. */
export class FrontEndFile {
  /** @param {EnglishData} american @param {EnglishData} british @param {Map<string, RulesData>} rules by language (ISO 639-1) */
  constructor(american, british, rules) {
    this._american = american;
    this._british = british;
    this._rules = rules;
  }

  /** Read a file. @param {Uint8Array} data @param {string} [name] of the file, for messages
   * @returns {Promise<FrontEndFile>} rejected with a BundleError where it has another layout */
  static async open(data, name = "front_end.safetensors") {
    const tensors = readSafetensors(data, name);
    try {
      const format = Number(tensors.get("format").values[0]);
      if (format !== FORMAT) throw new RangeError(`its layout is ${format}, not ${FORMAT}`);
      const read = async (tensor) => JSON.parse(new TextDecoder().decode(await unpacked(tensors.get(tensor).values)));
      const opened = (tensor) => Dictionary.open(tensors.get(tensor).values);
      const shared = {
        tokenizer: { ...(await read("rules")), exceptions: exceptionsOf(await opened("exceptions")) },
        tagger: taggerOf(tensors, await opened("norms"), await opened("symbols")),
        forms: await read("text.en"),
      };
      const variant = async (code) => {
        const names = [`lexicon.${code}.gold`, `lexicon.${code}.silver`, `letters.${code}`];
        const [gold, silver, letters] = await Promise.all(names.map(opened));
        const words = `homographs.${code}`;
        const homographs = tensors.has(words) ? homographsOf(await opened(words), tensors) : null;
        return { ...shared, gold, silver, letters, homographs };
      };
      const names = [...tensors.keys()].filter((name) => name.startsWith("sounds.")).map((name) => name.slice("sounds.".length));
      const byRules = await Promise.all(
        names.map(async (name) => /** @type {[string, RulesData]} */ ([
          name, { forms: await read(`text.${name}`), sounds: await read(`sounds.${name}`) },
        ])),
      );
      return new FrontEndFile(await variant("us"), await variant("gb"), new Map(byRules));
    } catch (error) {
      throw new BundleError(`${name} is no front end that this version reads (${error}). Build the bundle again.`);
    }
  }

  /** What American or British English needs. @param {boolean} british */
  english(british) {
    return british ? this._british : this._american;
  }

  /** What a language needs that is read by rules; undefined where the file has none of it. @param {string} name ISO 639-1 */
  rules(name) {
    return this._rules.get(name);
  }
}

/** @param {Dictionary} found @returns {Map<string, [string, string][]>} */
function exceptionsOf(found) {
  return new Map(partsOf(found).map(([word, pieces]) => [word, pieces.map((piece) => piece.split(WITHIN))]));
}

/** Words of a dictionary with the parts of their values. @param {Dictionary} found @returns {[string, string[]][]} */
function partsOf(found) {
  return Array.from(found.entries(), ([word, value]) => [word, String(value).split(BETWEEN)]);
}

function taggerOf(tensors, norms, symbols) {
  const values = (name) => tensors.get(name).values;
  const layer = (name) => ({
    weight: values(`${name}.weight`),
    bias: values(`${name}.bias`),
    scale: values(`${name}.scale`),
    shift: values(`${name}.shift`),
  });
  return {
    embeddings: values("embeddings"),
    rows: Array.from(values("rows"), Number),
    mix: layer("mix"),
    layers: Array.from({ length: LAYERS }, (_, index) => layer(`layer.${index}`)),
    weight: values("scores.weight"),
    bias: values("scores.bias"),
    labels: new TextDecoder().decode(values("labels")).split("\n"),
    norms,
    symbols: new Map(partsOf(symbols).map(([word, [id]]) => [word, BigInt(id)])),
  };
}

function homographsOf(words, tensors) {
  const [mean, deviation, weights, scales, biases] = ["mean", "deviation", "weights", "scales", "biases"].map(
    (part) => tensors.get(`homographs.${part}`).values,
  );
  const rows = partsOf(words).sort(([, [a]], [, [b]]) => Number(a) - Number(b));
  const readings = new Map(rows.map(([word, [, ...spoken]]) => [word, spoken]));
  return { mean, deviation, weights, scales, biases, words: readings };
}
