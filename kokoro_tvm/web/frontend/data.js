/** The front end's data in a bundle, in one safetensors file: tagger, tokenizer, lexicon, written forms and rules of
 * letter-to-sound. */

import { BundleError } from "../errors.js";
import { readSafetensors } from "../safetensors.js";
import { Dictionary } from "./dictionary.js";

/** The version of the layout, in the tensor `rules`. */
const FORMAT = 4;
/** Layers of the tagger over a word and its neighbours. */
const LAYERS = 4;

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
      const read = async (tensor) => JSON.parse(new TextDecoder().decode(await unpacked(tensors.get(tensor).values)));
      const rules = await read("rules");
      if (rules.format !== FORMAT) throw new RangeError(`its layout is ${rules.format}, not ${FORMAT}`);
      const shared = { tokenizer: tokenizerOf(rules), tagger: taggerOf(rules, tensors), forms: await read("text.en") };
      const variant = async (code) => {
        const [gold, silver, letters] = await Promise.all(
          [`lexicon.${code}.gold`, `lexicon.${code}.silver`, `letters.${code}`].map(
            async (tensor) => new Dictionary(await unpacked(tensors.get(tensor).values)),
          ),
        );
        const words = tensors.has(`homographs.${code}`) && Object.entries(await read(`homographs.${code}`));
        const homographs = words ? homographsOf(new Map(words), tensors) : null;
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

async function unpacked(values) {
  const stream = new Blob([values]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function tokenizerOf({ prefix, suffix, infix, url, exceptions }) {
  return { prefix, suffix, infix, url, exceptions: new Map(Object.entries(exceptions)) };
}

function taggerOf(rules, tensors) {
  const values = (name) => tensors.get(name).values;
  const layer = (name) => ({
    weight: values(`${name}.weight`),
    bias: values(`${name}.bias`),
    scale: values(`${name}.scale`),
    shift: values(`${name}.shift`),
  });
  return {
    embeddings: values("embeddings"),
    rows: rules.rows,
    mix: layer("mix"),
    layers: Array.from({ length: LAYERS }, (_, index) => layer(`layer.${index}`)),
    weight: values("scores.weight"),
    bias: values("scores.bias"),
    labels: rules.labels,
    norms: new Map(Object.entries(rules.norms)),
    symbols: new Map(Object.entries(rules.symbols).map(([word, id]) => [word, BigInt(id)])),
  };
}

function homographsOf(words, tensors) {
  const [mean, deviation, weights, scales, biases] = ["mean", "deviation", "weights", "scales", "biases"].map(
    (part) => tensors.get(`homographs.${part}`).values,
  );
  return { mean, deviation, weights, scales, biases, words };
}
