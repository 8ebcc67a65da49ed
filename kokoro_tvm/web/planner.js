/** Text to a plan, as `Synthesizer.plan` of Python: languages of voices, and refusal of invalid requests. */

import { DIVISION } from "./division.js";
import { InputError } from "./errors.js";
import { length, quote } from "./characters.js";
import { PAUSES } from "./joins.js";
import { SPEEDS } from "./limits.js";
import { truncate } from "./notices.js";
import { Plan } from "./plan.js";
import { planPieces } from "./planning.js";
import { sentencesOfPhonemes, sentencesOfText } from "./sentences.js";
import { LANGUAGES, describe } from "./voices.js";

/** @typedef {import("./front_end.js").FrontEnd} FrontEnd */
/** @typedef {import("./planning.js").Model} Model */
/** @typedef {import("./planning.js").Planned} Planned */
/** @typedef {import("./voices.js").Voices} Voices */

/**
 * How to speak. voice: a name or a mix; speed: above 1 is faster; seed: 0n to 2n ** 64n - 1n; ssml: whether the text
 * is SSML, null to decide by its beginning; markup: whether markup is followed, else brackets and tags are text; lang:
 * letter of the language of the whole text (`a`, `b`), else each voice has its own; warn: takes notices.
 * @typedef {{voice?: string, speed?: number, seed?: bigint, lang?: string, pauses?: import("./joins.js").Pauses,
 *   division?: import("./division.js").Division, ssml?: boolean | null, markup?: boolean, warn?:
 *   import("./notices.js").Warn}} Options
 */

const LONGEST = 2_000_000; // characters, 40 hours of speech
const WHOLE = { first: 1 << 30, least: 0, most: 1 << 30 }; // phonemes are divided only if they do not fit

/** Planner with a bundle's model, voices and front end. */
export class Planner {
  /** @param {Model & {samplesPerFrame: number}} model @param {Voices} voices @param {FrontEnd} frontEnd
   * @param {Record<string, string>} [languages] the bundle's, by their letters */
  constructor(model, voices, frontEnd, languages = LANGUAGES) {
    this._model = model;
    this._voices = voices;
    this._frontEnd = frontEnd;
    this._languages = languages;
  }

  /**
   * Plan a text.
   *
   * Rejected with an InputError if the text, voice, speed or seed is invalid, or the text is longer than two million
   * characters.
   * @param {string | Iterable<string>} text
   * @param {Options} [options]
   * @returns {Promise<Plan>}
   */
  async plan(text, options = {}) {
    if (typeof text === "string" && length(text) > LONGEST) {
      throw new InputError(`The text has ${length(text)} characters, too much for memory at once. Use pieces().`);
    }
    return collected(this.empty(options), this.pieces(text, options));
  }

  /**
   * Plan phonemes, or several strings of phonemes as separate utterances.
   * @param {string | string[]} phonemes
   * @param {Options} [options]
   * @returns {Promise<Plan>}
   */
  async planPhonemes(phonemes, options = {}) {
    const known = this._known(options);
    const sentences = sentencesOfPhonemes([phonemes].flat(), known);
    const empty = this.empty(options).with({ mute: false });
    return collected(empty, this._planned(sentences, { ...options, division: WHOLE }, known));
  }

  /**
   * Yield the pieces of a text, which may come in portions, with the features for the decoder.
   * @param {string | Iterable<string>} text
   * @param {Options} [options]
   * @returns {AsyncIterable<Planned>}
   */
  pieces(text, options = {}) {
    this.empty(options);
    const known = this._known(options);
    const sentences = sentencesOfText(text, known, this._frontEnd, options.ssml ?? null, options.markup ?? true);
    return this._planned(sentences, options, known);
  }

  /**
   * Return a plan of these options without pieces. Throws an InputError for an invalid option.
   * @param {Options} options
   */
  empty({ voice = this._voices.default, speed = 1, seed = 0n }) {
    this._voices.split(voice);
    const { sampleRate, samplesPerFrame } = this._model;
    return new Plan({ pieces: [], voice, speed, seed, sampleRate, samplesPerFrame });
  }

  _planned(sentences, options, { warn }) {
    const { voice = this._voices.default, speed = 1 } = options;
    const [low, high] = SPEEDS;
    if (speed < low || speed > high) {
      warn(`Speed ${speed} is beyond what the model can say, ${low} to ${high}: sounds are lost or drawn out.`);
    }
    const [pauses, division] = [options.pauses ?? PAUSES, options.division ?? DIVISION];
    const tables = new Map();
    const table = (other) => {
      const name = other ?? voice;
      if (!tables.has(name)) tables.set(name, this._voices.table(name));
      return tables.get(name);
    };
    return planPieces(this._model, sentences, { table, speed, pauses, division }, warn);
  }

  /** @param {Options} options @returns {import("./markup/items.js").Known} */
  _known({ voice = this._voices.default, lang, warn = () => {} }) {
    if (lang !== undefined && !(lang in this._languages)) {
      const letters = Object.entries(this._languages).map(([letter, name]) => `${letter} (${name})`);
      throw new InputError(`There is no language ${quote(truncate(lang))}. Choose one of ${letters.join(", ")}.`);
    }
    /** @type {Map<string, string>} */
    const languages = new Map(); // so that notices about a voice come once
    const language = (other) => {
      const name = other ?? voice;
      const code = languages.get(name) ?? this._language(name, lang, warn);
      languages.set(name, code);
      return code;
    };
    language(null);
    return { symbols: this._model.vocabulary, language, warn };
  }

  /** Return the letter of the language to speak; a notice says if the voice leaves it open. */
  _language(voice, lang, warn) {
    const infos = this._voices.split(voice).map((item) => describe(item, this._languages));
    if (lang !== undefined) return lang;
    const [{ name, code }] = infos;
    if (!(code in this._languages)) {
      const [first, language] = Object.entries(this._languages)[0];
      warn(`The name of the voice ${name} names no language; ${language} is used.`);
      return first;
    }
    if (infos.some((info) => info.code !== code)) {
      warn(`The voices of the mix ${quote(truncate(voice))} speak different languages; ${this._languages[code]} is used.`);
    }
    return code;
  }
}

async function collected(plan, planned) {
  const pieces = [];
  for await (const { piece } of planned) pieces.push(piece);
  return plan.with({ pieces });
}
