/** Text to phonemes by the C of kokoro_tvm/native/libkokoro/text/, compiled to WebAssembly. */

import { BundleError, InputError, MemoryError } from "./errors.js";
import { LANGUAGES } from "./voices.js";

/** @typedef {import("./source.js").Link} Link */

/**
 * A word or a mark.
 *
 * text: after normalization ("two dollars" for "$2"); start, end: slice of the original text; tag: part of speech
 * (Penn Treebank), or ""; phonemes: in the model's alphabet, "" for silence; space: " " or "", up to the next token;
 * origin: source of the phonemes ("lexicon", "letters", "given", "mark", ...).
 * @typedef {{text: string, start: number, end: number, phonemes: string, space: string, tag: string, origin: string}}
 *   Token
 */

/** Stands for a missing number. */
const ABSENT = -(2 ** 31);
/** Errors by the codes of `kokoro_error`, and the offset of its text. @type {Record<number, typeof BundleError>} */
const ERRORS = { 1: MemoryError, 2: InputError };
const TEXT = 4;

/** Text to phonemes by the data of a bundle. */
export class FrontEnd {
  #module;
  #languages;

  /**
   * Open the front end of a bundle.
   * @param {Uint8Array<ArrayBuffer> | null} code text.wasm of a bundle
   * @param {Uint8Array | null} data its front_end.safetensors; both null: it speaks phonemes alone
   * @param {Record<string, string>} [languages] the bundle's, by their letters
   * @returns {Promise<FrontEnd>} rejected with a BundleError where it has another layout
   */
  static async open(code, data, languages = LANGUAGES) {
    return new FrontEnd(code && data && (await Module.open(code, data)), languages);
  }

  /** @param {Module | null} module @param {Record<string, string>} languages */
  constructor(module, languages) {
    this.#module = module;
    this.#languages = languages;
  }

  /**
   * Read a passage: its utterances with phonemes, and notices of guesses and omissions.
   *
   * Throws an InputError for a text that cannot be spoken, and for a language without a front end in the bundle.
   * @param {string} text
   * @param {Link[]} links places in it, in their order
   * @param {string} code letter of LANGUAGES
   * @returns {{utterances: Token[][], notices: string[]}}
   */
  read(text, links, code) {
    const letter = code.charCodeAt(0);
    if (!this.#module?.call("reads", letter)) {
      throw new InputError(
        `${this.#languages[code] ?? "This"} text cannot be turned into phonemes in a browser: it needs a program or a package ` +
          "that runs with Python alone. Choose a voice of another language, or give phonemes instead of text.",
      );
    }
    const [utterances, notices] = JSON.parse(this.#module.read(text, links, letter));
    return { utterances: utterances.map((tokens) => tokens.map(tokenOf)), notices };
  }
}

const tokenOf = ([text, start, end, phonemes, space, tag, origin]) => ({ text, start, end, phonemes, space, tag, origin });

/** Interface of native/libkokoro/wasm/module.c. */
class Module {
  #exports;

  /** @param {Uint8Array<ArrayBuffer>} code @param {Uint8Array} data @returns {Promise<Module>} */
  static async open(code, data) {
    const { instance } = await WebAssembly.instantiate(code);
    const module = new Module(instance.exports);
    const place = module.call("take_file", data.length);
    module.#bytes(place, data.length).set(data);
    module.call("open_file");
    return module;
  }

  constructor(exports) {
    this.#exports = exports;
  }

  /**
   * Call a function. A failure in C traps and leaves the stack as it is.
   * @param {string} name
   * @param {...number} values
   * @returns {number}
   */
  call(name, ...values) {
    const { __stack_pointer: stack, [name]: called } = this.#exports;
    const top = stack.value;
    try {
      return called(...values);
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      stack.value = top;
      const place = this.#exports.last_error();
      const [kind] = new Int32Array(this.#exports.memory.buffer, place, 1);
      throw new (ERRORS[kind] ?? BundleError)(this.#text(place + TEXT) || error.message);
    }
  }

  /**
   * Return the JSON of a passage.
   * @param {string} text
   * @param {Link[]} links
   * @param {number} letter
   */
  read(text, links, letter) {
    const input = links.map(({ phonemes, alias, flags }) => [phonemes, alias, flags]);
    const numbers = links.flatMap(({ start, end, stress }, place) => [
      start, end, stress === null ? ABSENT : Math.max(-9, Math.min(2 * stress, 9)),
      ...input[place].map((item) => item?.length ?? ABSENT),
    ]);
    const head = Int32Array.of(text.length, links.length, ...numbers);
    const units = text + input.flat().join("");
    const place = this.call("take_request", head.byteLength + 2 * units.length);
    new Int32Array(this.#exports.memory.buffer, place, head.length).set(head);
    const behind = new Uint16Array(this.#exports.memory.buffer, place + head.byteLength, units.length);
    for (let unit = 0; unit < units.length; unit++) behind[unit] = units.charCodeAt(unit);
    return this.#text(this.call("read_request", letter));
  }

  #text(place) {
    const all = this.#bytes(place);
    return new TextDecoder().decode(all.subarray(0, all.indexOf(0)));
  }

  #bytes(place, size = undefined) {
    return new Uint8Array(this.#exports.memory.buffer, place, size);
  }
}
