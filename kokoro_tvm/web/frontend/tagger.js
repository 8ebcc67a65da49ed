/**
 * Parts of speech by spaCy's small English model.
 *
 * Six hashed embeddings of each word are mixed to 96 channels; four residual layers look at one neighbour on either
 * side; a linear layer gives a score for each tag. (Honnibal, "Embed, encode, attend, predict", 2016; Serrà and
 * Karatzoglou, "Getting deep recommenders fit: Bloom embeddings", 2017.)
 *
 * What a layer gives is float32, as in Python; sums are float64, so a score may differ in its last bits from that of
 * a library that sums in float32, whose order differs from machine to machine.
 */

import { hashRows, idOf } from "./hashing.js";
import { back, charAt, isAlpha, isDigit, isSpace, isUpper, length } from "./python.js";
import { remembered } from "./remembered.js";

const FIRST_SEED = 8; // of the first table; each has the next
const LONG = 100; // characters, from which on a word has no shape
const EPSILON = 1e-8;

/**
 * Maxout and layer normalisation: weight (pieces, outputs, inputs), bias (pieces, outputs), scale and shift (outputs).
 *
 * @typedef {{weight: Float32Array, bias: Float32Array, scale: Float32Array, shift: Float32Array}} Layer
 */

/**
 * What the model learned.
 *
 * embeddings: rows of six tables (rows, channels), one after the other: of norm, first letter, last three, shape,
 * following space, being space; rows: how many each table has; mix: the layer over them; layers: those over a word and
 * its neighbours; weight (tags, channels) and bias (tags) of the scores; labels: the tags; norms: id of a word, as 16
 * hexadecimal digits -> what is read in its place; symbols: words with an id of their own.
 *
 * @typedef {{embeddings: Float32Array, rows: number[], mix: Layer, layers: Layer[], weight: Float32Array,
 *   bias: Float32Array, labels: string[], norms: import("./dictionary.js").Dictionary, symbols: Map<string, bigint>}} TaggerData
 */

/** A tagger of `data`. */
export class Tagger {
  /** @param {TaggerData} data */
  constructor(data) {
    this._data = data;
    this._channels = data.weight.length / data.labels.length;
    this._starts = data.rows.map((_, table) => data.rows.slice(0, table).reduce((sum, rows) => sum + rows, 0));
    this._embedding = remembered((word) => this._ofWord(word));
    this._flags = [4, 5].map((table) => [0n, 1n].map((flag) => this._sum(table, flag)));
  }

  /** The tag of every piece of one text (Penn Treebank, as OntoNotes uses it), and the states (channels) that it is
   * read from.
   * @param {import("./tokenizer.js").Piece[]} pieces @returns {{tags: string[], states: Float32Array[]}} */
  tag(pieces) {
    if (!pieces.length) return { tags: [], states: [] };
    const { layers, mix, weight, bias, labels } = this._data;
    const width = this._channels;
    // A text is padded with one zero for every layer, which the layers fill as if they were words.
    const edge = layers.length;
    const state = new Float32Array((pieces.length + 2 * edge) * width);
    const embedded = new Float32Array(6 * width);
    pieces.forEach((piece, index) => {
      embedded.set(this._embedding(`${piece.text}\0${piece.norm}`));
      embedded.set(this._flags[0][Number(piece.space)], 4 * width);
      embedded.set(this._flags[1][Number(isSpace(piece.text))], 5 * width);
      apply(mix, embedded, state.subarray((index + edge) * width, (index + edge + 1) * width));
    });
    // With a row of zeros at either end, a word and its neighbours are one stretch of the rows.
    const rows = new Float32Array(state.length + 2 * width);
    const added = new Float32Array(width);
    for (const layer of layers) {
      rows.set(state, width);
      for (let place = 0; place < state.length; place += width) {
        apply(layer, rows.subarray(place, place + 3 * width), added);
        for (let channel = 0; channel < width; channel++) state[place + channel] += added[channel];
      }
    }
    const states = pieces.map((_, index) => state.subarray((index + edge) * width, (index + edge + 1) * width));
    const tags = states.map((word) => {
      const scores = labels.map((_, label) =>
        word.reduce((sum, value, channel) => sum + value * weight[label * width + channel], bias[label]),
      );
      return labels[scores.indexOf(Math.max(...scores))];
    });
    return { tags, states };
  }

  /** The embeddings of a word's spelling, of the first four tables; `word`: text and norm, with a 0 between. */
  _ofWord(word) {
    const { norms, symbols } = this._data;
    const [text, norm] = word.split("\0");
    const read = norm || norms.get(idOf(text, symbols).toString(16).padStart(16, "0")) || text.toLowerCase();
    const features = [read, charAt(text, 0), text.slice(back(text, text.length, 3)), shapeOf(text)];
    const found = new Float32Array(4 * this._channels);
    features.forEach((feature, table) => {
      found.set(this._sum(table, idOf(feature, symbols)), table * this._channels);
    });
    return found;
  }

  /** The sum of the four rows that the id of a feature has in its table. */
  _sum(table, key) {
    const { embeddings, rows } = this._data;
    const width = this._channels;
    const sum = new Float32Array(width);
    for (const hash of hashRows(key, FIRST_SEED + table)) {
      const start = (this._starts[table] + (hash % rows[table])) * width;
      for (let channel = 0; channel < width; channel++) sum[channel] += embeddings[start + channel];
    }
    return sum;
  }
}

/** What a layer makes of `inputs`, in `outputs`. @param {Layer} layer */
function apply({ weight, bias, scale, shift }, inputs, outputs) {
  const width = outputs.length;
  const depth = inputs.length;
  let mean = 0;
  for (let output = 0; output < width; output++) {
    // A layer has three pieces, whose sums read the inputs together.
    let start = output * depth;
    const [second, third] = [width * depth, 2 * width * depth];
    let a = 0;
    let b = 0;
    let c = 0;
    for (let place = 0; place < depth; place++, start++) {
      const value = inputs[place];
      a += weight[start] * value;
      b += weight[start + second] * value;
      c += weight[start + third] * value;
    }
    a += bias[output];
    b += bias[output + width];
    c += bias[output + 2 * width];
    outputs[output] = Math.max(a, b, c);
    mean += outputs[output];
  }
  mean /= width;
  let variance = 0;
  for (let output = 0; output < width; output++) {
    outputs[output] -= mean;
    variance += outputs[output] * outputs[output];
  }
  const deviation = Math.sqrt(variance / width + EPSILON);
  for (let output = 0; output < width; output++) {
    outputs[output] = outputs[output] * (scale[output] / deviation) + shift[output];
  }
}

/** The shape of a word: X for capitals, x for other letters, d for digits, runs cut at four. @param {string} text */
export function shapeOf(text) {
  if (length(text) >= LONG) return "LONG";
  let [shape, before, run] = ["", "", 0];
  for (const char of text) {
    const kind = isAlpha(char) ? (isUpper(char) ? "X" : "x") : isDigit(char) ? "d" : char;
    run = kind === before ? run + 1 : 1;
    if (run <= 4) shape += kind;
    before = kind;
  }
  return shape;
}
