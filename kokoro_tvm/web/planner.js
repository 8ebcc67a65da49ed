/** Text to a plan, as `Synthesizer.plan` of Python: options, languages of voices, and predictions for the C of text.wasm. */

import { length, quote } from "./characters.js";
import { InputError } from "./errors.js";
import { truncate } from "./notices.js";
import { SPEEDS } from "./numbers.js";
import { encode } from "./phonemes.js";
import { Piece, Plan, revivedPiece } from "./plan.js";
import { LANGUAGES, describe, rowOf, styleOf } from "./voices.js";

/** @typedef {import("./front_end.js").FrontEnd} FrontEnd */
/** @typedef {import("./phonemes.js").Vocabulary} Vocabulary */
/** @typedef {import("./voices.js").Voices} Voices */

/**
 * A model that predicts durations.
 *
 * vocabulary, sampleRate: the bundle's; most: maximum tokens, including the marks at both ends, and frames of an
 * utterance; predict: returns the duration of every token in frames at speed 1, and features for the decoder.
 * @typedef {{vocabulary: Vocabulary, sampleRate: number, most: {tokens: number, frames: number}, predict: (tokens:
 *   number[], style: Float32Array) => Promise<{durations: Float32Array, features: unknown}>}} Model
 */

/**
 * A piece with known durations, and the features of its prediction (null for silence).
 * @typedef {{piece: Piece, features: unknown}} Planned
 */

/**
 * How to speak. voice: a name or a mix; speed: above 1 is faster; seed: 0n to 2n ** 64n - 1n; ssml: whether the text
 * is SSML, null to decide by its beginning; markup: whether markup is followed, else brackets and tags are text; lang:
 * letter of the language of the whole text (`a`, `b`), else each voice has its own; omit: kinds of text that are left out,
 * `citations`, `code`, `math` and `notes`; warn: takes notices.
 * @typedef {{voice?: string, speed?: number, seed?: bigint, lang?: string, pauses?: import("./front_end.js").Pauses,
 *   division?: import("./front_end.js").Division, ssml?: boolean | null, markup?: boolean, omit?: string[], warn?:
 *   import("./notices.js").Warn}} Options
 */

/** Division of a whole speech, whose first sound nobody waits for. @type {import("./front_end.js").Division} */
export const UNCUT = { firstS: Infinity };
const LONGEST = 2_000_000; // characters, 40 hours of speech
const HALF = /[\ud800-\udbff]$/; // the first half of a character

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
   * Plan a text, whose first utterance is whole unless the options divide it.
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
    return collected(this.empty(options), this.pieces(text, { ...options, division: options.division ?? UNCUT }));
  }

  /**
   * Plan phonemes, or several strings of phonemes as separate utterances.
   * @param {string | string[]} phonemes
   * @param {Options} [options]
   * @returns {Promise<Plan>}
   */
  async planPhonemes(phonemes, options = {}) {
    const lines = [phonemes].flat();
    for (const line of lines) {
      if (typeof line !== "string") throw new InputError(`Phonemes are a string, not ${typeof line}.`);
    }
    return collected(this.empty(options).with({ mute: false }), this._planned([], lines, { ...options, division: UNCUT }));
  }

  /**
   * Yield the pieces of a text, which may come in portions, with the features for the decoder. Each comes as soon as the
   * text shows its end. A long first utterance comes in two pieces.
   * @param {string | Iterable<string>} text
   * @param {Options} [options]
   * @returns {AsyncGenerator<Planned>}
   */
  pieces(text, options = {}) {
    this.empty(options);
    return this._planned(portions(text), [], options);
  }

  /**
   * Return a plan of these options without pieces. Throws an InputError for an invalid option.
   * @param {Options} options
   */
  empty({ voice = this._voices.default, speed = 1, seed = 0n, lang, ssml, markup }) {
    this._voices.split(voice);
    if (lang !== undefined && !(lang in this._languages)) {
      const letters = Object.entries(this._languages).map(([letter, name]) => `${letter} (${name})`);
      throw new InputError(`There is no language ${quote(truncate(lang))}. Choose one of ${letters.join(", ")}.`);
    }
    if (markup === false && ssml) {
      throw new InputError("A text that is SSML has markup. Leave out `ssml`, or `markup: false`.");
    }
    const { sampleRate, samplesPerFrame } = this._model;
    return new Plan({ pieces: [], voice, speed, seed, sampleRate, samplesPerFrame });
  }

  /**
   * Plan text or lines of phonemes, and predict durations of what C drafts.
   * @param {Iterable<string>} text
   * @param {string[]} lines
   * @param {Options} options
   * @returns {AsyncGenerator<Planned>}
   */
  async *_planned(text, lines, options) {
    const { vocabulary } = this._model;
    const { voice = this._voices.default, warn = () => {} } = options;
    const plan = this._begin(options);
    const portion = text[Symbol.iterator]();
    let features = null;
    try {
      for (const line of lines) plan.givePhonemes(line);
      for (;;) {
        const { text: needsText, draft, piece, end } = plan.step(warn);
        if (end) return;
        if (needsText) {
          const { value, done } = portion.next();
          if (done) plan.end();
          else plan.give(value);
        } else if (draft) {
          const table = await this._voices.table(draft.voice ?? voice);
          const style = rowOf(table, draft.symbols);
          const predicted = await this._model.predict(encode(draft.phonemes, vocabulary), styleOf(table, style));
          features = { style, features: predicted.features };
          plan.setDurations(predicted.durations);
        } else {
          // The second part of an utterance comes without a draft.
          if (!piece.words.length) features = null;
          yield { piece: revivedPiece({ ...piece, style: features?.style ?? 0 }), features: features?.features ?? null };
        }
      }
    } finally {
      plan.free();
    }
  }

  /** @param {Options} options */
  _begin({ voice = this._voices.default, speed = 1, lang, pauses, division, ssml = null, markup = true, omit = [], warn = () => {} }) {
    const { vocabulary, sampleRate, samplesPerFrame, most } = this._model;
    const [low, high] = SPEEDS;
    /** @type {Map<string, string>} */
    const languages = new Map(); // so that notices about a voice come once
    const language = (name) => {
      const code = languages.get(name) ?? this._language(name, lang, warn);
      languages.set(name, code);
      return code;
    };
    const letter = language(voice);
    if (speed < low || speed > high) {
      warn(`Speed ${speed} is beyond what the model can say, ${low} to ${high}: sounds are lost or drawn out.`);
    }
    const kinds = ["citations", "code", "math", "notes"]; // bits of the C of the front end
    const unknown = omit.find((kind) => !kinds.includes(kind));
    if (unknown !== undefined) throw new InputError(`There is no kind of text '${unknown}' to skip. Known: ${kinds.join(", ")}.`);
    const omitted = omit.reduce((sum, kind) => sum | (1 << kinds.indexOf(kind)), 0);
    /** @type {import("./front_end.js").Request["form"]} */
    const form = !markup ? "plain" : ssml === null ? "any" : ssml ? "ssml" : "brackets";
    const request = { vocabulary: [...vocabulary.keys()], language: letter, languages: this._languages, form, omit: omitted, speed, sampleRate, samplesPerFrame, ...most };
    return this._frontEnd.plan({ ...request, pauses: pauses ?? null, division: division ?? null }, language);
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

/** Yield portions of a text that cut no character in two. Throws an InputError for what is no text. */
function* portions(text) {
  if (typeof text?.[Symbol.iterator] !== "function") {
    throw new InputError(`The text to speak is a string, or strings in turn, not ${truncate(String(text))}.`);
  }
  let held = "";
  for (const portion of typeof text === "string" ? [text] : text) {
    if (typeof portion !== "string") {
      throw new InputError(`The text to speak should come as strings, but ${truncate(String(portion))} came.`);
    }
    const all = held + portion;
    held = HALF.test(all) ? all[all.length - 1] : "";
    yield held ? all.slice(0, -1) : all;
  }
  yield held;
}

async function collected(plan, planned) {
  const pieces = [];
  for await (const { piece } of planned) pieces.push(piece);
  return plan.with({ pieces });
}
