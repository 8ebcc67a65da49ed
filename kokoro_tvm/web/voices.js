/** Voices: style tables by name, mixes of them, language and gender from a voice's name. */

import { BundleError, InputError } from "./errors.js";
import { quote, strip } from "./characters.js";
import { truncate } from "./notices.js";
import { nearest } from "./similar.js";

export const LANGUAGES = {
  a: "American English",
  b: "British English",
  e: "Spanish",
  f: "French",
  h: "Hindi",
  i: "Italian",
  j: "Japanese",
  p: "Brazilian Portuguese",
  z: "Mandarin Chinese",
};
const GENDERS = { f: "female", m: "male" };
const SIGN = /[-+,]/;
const WEIGHTED = /^([^(]*)\([ \t-\r]*([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})[ \t-\r]*\)$/;
const HEAVIEST = 1000;
const MOST_VOICES = 16; // per mix
const DEFAULT = "af_heart";
const FAR = 4; // see `_FAR` in kokoro_tvm/runtime/bundle/voices.py

/** @typedef {{name: string, code: string, language: string, gender: string}} VoiceInfo */
/**
 * Rows of a style table: float32 (rows, width).
 * @typedef {{rows: number, width: number, values: Float32Array}} Table
 */

/**
 * Return the names of a bundle's languages by letter, or Kokoro-82M's.
 * @param {Record<string, {name: string}> | null | undefined} result
 * @returns {Record<string, string>}
 */
export function languagesOf(result) {
  return result ? Object.fromEntries(Object.entries(result).map(([code, { name }]) => [code, name])) : LANGUAGES;
}

/**
 * Return language and gender from a voice's name: `af_heart` is American English (code a), female; "unknown" for names
 * without Kokoro's pattern.
 * @param {string} name
 * @param {Record<string, string>} [languages] the bundle's, by their letters
 * @returns {VoiceInfo}
 */
export function describe(name, languages = LANGUAGES) {
  const prefix = name.includes("_") ? [...name.split("_")[0]] : [];
  const [letter, sex] = prefix.length === 2 ? prefix : ["", ""];
  const letters = Object.keys(languages);
  const code = letters.length === 1 ? letters[0] : letter; // every voice of a model with one language speaks it
  return { name, code, language: languages[code] ?? "unknown", gender: GENDERS[sex] ?? "unknown" };
}

/** Style tables float32 (510, 2 * style_dim) by name, each loaded at its first use. */
export class Voices {
  /** @param {Map<string, Table | Promise<Table> | (() => Promise<Table>)>} tables */
  constructor(tables) {
    this._tables = tables;
  }

  /**
   * Open a bundle's `voices.safetensors`. Rejected with a BundleError if a table is not float32 or has another width.
   * @param {(begin: number, end: number) => Promise<Uint8Array<ArrayBuffer>>} read bytes of it
   * @param {number} width of a row, twice the manifest's style_dim
   */
  static async open(read, width) {
    const start = 8 + Number(new DataView((await read(0, 8)).buffer).getBigUint64(0, true));
    const { __metadata__: _, ...entries } = JSON.parse(new TextDecoder().decode(await read(8, start)));
    const tables = new Map();
    for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(entries)) {
      const rows = (end - begin) / (4 * width);
      if (dtype !== "F32" || !rows || !Number.isInteger(rows)) {
        throw new BundleError(`The voice ${name} is (${shape}), not float32 rows of ${width}. Build the bundle again.`);
      }
      const values = async () => new Float32Array((await read(start + begin, start + end)).buffer);
      tables.set(name, async () => ({ rows, width, values: await values() }));
    }
    return new Voices(tables);
  }

  /**
   * Return these voices with others added. Rejected with an InputError if a name exists, or a row is far from all
   * others.
   * @param {Map<string, Table>} own
   * @returns {Promise<Voices>}
   */
  async joined(own) {
    const available = await Promise.all([...this._tables.keys()].map((name) => this._table(name)));
    const norms = available.flatMap(normsOf);
    const [least, most] = [extreme(norms, Math.min), extreme(norms, Math.max)];
    for (const [name, table] of own) {
      if (this._tables.has(name)) throw new InputError(`There is a voice ${name} already. Rename the file.`);
      const row = normsOf(table).findIndex((norm) => !(norm >= least / FAR && norm <= most * FAR));
      if (row < 0) continue;
      throw new InputError(
        `The voice ${name} is far from all that the model was trained with: row ${row} has the norm ` +
          `${normsOf(table)[row].toPrecision(3)}, and theirs are ${least.toPrecision(3)} to ${most.toPrecision(3)}. ` +
          "Is it a style of this model?",
      );
    }
    return new Voices(new Map([...this._tables, ...own]));
  }

  /** Names in alphabetical order. @returns {string[]} */
  get names() {
    return [...this._tables.keys()].sort();
  }

  /** The default voice: af_heart, or the first of a bundle without it. @returns {string} */
  get default() {
    return this._tables.has(DEFAULT) ? DEFAULT : this.names[0];
  }

  /**
   * Return the names in a mix. Throws an InputError with the nearest names for an unknown one.
   * @param {string} voice
   * @returns {string[]}
   */
  split(voice) {
    return this._parts(voice).map(([name]) => name);
  }

  /**
   * Return the table of a voice, or of a mix such as "af_heart,am_adam" or "af_heart(2)+am_adam-af_sky": the weighted
   * sum, divided by the sum of the weights' magnitudes.
   * @param {string} voice
   * @returns {Promise<Table>}
   */
  async table(voice) {
    const parts = this._parts(voice);
    const tables = await Promise.all(parts.map(([name]) => this._table(name)));
    if (tables.length === 1) return tables[0];
    const rows = extreme(tables.map((table) => table.rows), Math.max);
    const { width } = tables[0];
    if (tables.some((table) => table.rows !== rows && table.rows !== 1)) {
      throw new InputError(`The voices '${truncate(voice)}' have tables of different lengths and cannot be mixed.`);
    }
    const sum = new Float32Array(rows * width);
    const weights = parts.map(([, weight]) => weight);
    const all = weights.reduce((total, weight) => total + Math.abs(weight), 0);
    const isMean = weights.every((weight) => weight === 1);
    tables.forEach((table, place) => {
      const weight = isMean ? 1 : Math.fround(weights[place] / all);
      for (let i = 0; i < sum.length; i++) sum[i] += Math.fround(weight * table.values[i % table.values.length]);
    });
    if (isMean) for (let i = 0; i < sum.length; i++) sum[i] /= tables.length;
    return { rows, width, values: sum };
  }

  /** @param {string} name of a voice that there is @returns {Promise<Table>} */
  async _table(name) {
    const result = this._tables.get(name);
    if (typeof result !== "function") return result;
    const loading = result().catch((error) => {
      this._tables.set(name, result);
      throw error;
    });
    this._tables.set(name, loading);
    return loading;
  }

  /** Return names and weights of a mix; those after a minus are negative. @returns {[string, number][]} */
  _parts(voice) {
    if (typeof voice !== "string") {
      throw new InputError(`A voice should be a name such as 'af_heart', but is ${truncate(String(voice))}.`);
    }
    if (this._tables.has(voice)) return [[voice, 1]];
    const signs = ["+", ...(voice.match(new RegExp(SIGN, "g")) ?? [])];
    if (signs.length > MOST_VOICES) {
      throw new InputError(
        `A mix may have ${MOST_VOICES} voices, but this one has ${signs.length}. Leave some out: to make one heavier, give ` +
          "it a weight, as in af_heart(2).",
      );
    }
    const parts = voice.split(SIGN).map((part, place) => this._part(strip(part), signs[place]));
    let [added, removed] = [0, 0];
    for (const [, weight] of parts) weight > 0 ? (added += weight) : (removed -= weight);
    if (3 * removed > 2 * added) {
      throw new InputError(
        "This mix takes away nearly all that it adds, and no voice is left: what is subtracted should weigh at most " +
          "two thirds of what is added.",
      );
    }
    return parts;
  }

  /** @returns {[string, number]} */
  _part(part, sign) {
    const result = WEIGHTED.exec(part);
    const [name, weight] = result ? [result[1].trimEnd(), Number(result[2])] : [part, 1];
    if (!this._tables.has(name)) throw new InputError(this._unknown(name));
    if (!(weight > 0 && weight <= HEAVIEST)) {
      throw new InputError(`The weight of ${name} in a mix should be above 0 and at most ${HEAVIEST}.`);
    }
    return [name, sign === "-" ? -weight : weight];
  }

  _unknown(name) {
    if (!name) return `The name of a voice is empty. ${this._advice([])}`;
    const near = nearest(name.toLowerCase(), this.names, 3);
    return `There is no voice ${quote(truncate(name))} in this bundle. ${this._advice(near)}`;
  }

  _advice(near) {
    if (near.length) return `Nearest: ${near.join(", ")}.`;
    return `It has ${this._tables.size}, such as ${this.names.slice(0, 3).join(", ")}.`;
  }
}

/**
 * Return the norm of every row.
 * @param {Table} table
 * @returns {number[]}
 */
function normsOf({ rows, width, values }) {
  return Array.from({ length: rows }, (_, row) => Math.hypot(...values.subarray(row * width, (row + 1) * width)));
}

/** @param {number[]} numbers @param {(a: number, b: number) => number} choose */
const extreme = (numbers, choose) => numbers.reduce((a, b) => choose(a, b));

/**
 * Return the row of a table for an utterance: its number of symbols less one, as stock Kokoro picks it, limited to the
 * table.
 * @param {Table} table
 * @param {number} symbols
 */
export const rowOf = (table, symbols) => Math.min(Math.max(symbols - 1, 0), table.rows - 1);

/**
 * Copy a row of a table (width,). A copy, because a message with a view contains the whole buffer.
 * @param {Table} table
 * @param {number} row
 */
export const styleOf = (table, row) => table.values.slice(row * table.width, (row + 1) * table.width);
