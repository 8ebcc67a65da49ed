/** Text to plans by the C of kokoro_tvm/native/libkokoro/text/, compiled to WebAssembly. */

import { BundleError, InputError, MemoryError } from "./errors.js";

/**
 * What a plan needs. vocabulary: symbols of the model; language: letter of the request's language; languages:
 * names by letters, for messages; form: how the text is
 * marked; tokens, frames: longest utterance; pauses, division: null for the usual ones.
 * @typedef {{vocabulary: string[], language: string, languages: Record<string, string>, form: "any" | "plain" | "brackets" | "ssml", speed: number, sampleRate:
 *   number, samplesPerFrame: number, tokens: number, frames: number, pauses: Pauses | null, division: Division | null}} Request
 */

/**
 * Seconds from the last sound of a piece to the first of the next, at speed 1.
 *
 * sentence: after . ! ? and at the end of a line of phonemes; ellipsis: after …; semicolon: after ; and : and a dash;
 * comma: after a comma; paragraph: after a blank line; none: after a division at a space.
 * @typedef {{sentence: number, ellipsis: number, semicolon: number, comma: number, paragraph: number, none: number}}
 *   Pauses
 */

/**
 * Lengths of pieces in symbols of phonemes; those that are left out are the usual ones.
 *
 * first: a longer first piece ends at its first clause; least: a shorter one is joined with the next sentence of the
 * paragraph; most: a longer one is divided, best at a mark; firstS: seconds, the utterance of a longer first piece is decoded
 * in two pieces without a pause. Infinity: never.
 * @typedef {{first?: number, least?: number, most?: number, firstS?: number}} Division
 */

/**
 * A step of a plan: more text is needed, durations of a draft, a piece is planned, or nothing is left. symbols: length of the
 * draft's phonemes with those that the model does not know; voice: null for the request's.
 * @typedef {{text?: true, end?: true, draft?: {phonemes: string, symbols: number, voice: string | null}, piece?: any}} Step
 */

/** Errors by the codes of `kokoro_error`, and the offset of its text. @type {Record<number, typeof BundleError>} */
const ERRORS = { 1: MemoryError, 2: InputError };
const TEXT = 4;
const MESSAGE = 2043; // bytes of `message_buffer`

/** Planner of texts by the data of a bundle. */
export class FrontEnd {
  #exports;
  /** What looks up languages, by plans. @type {Map<number, (voice: string) => string>} */
  #languages = new Map();

  /**
   * Open the front end of a bundle.
   * @param {Uint8Array<ArrayBuffer>} code text.wasm of a bundle
   * @param {Uint8Array | null} data its front_end.safetensors; null: it speaks phonemes alone
   * @returns {Promise<FrontEnd>} rejected with a BundleError where it has another layout
   */
  static async open(code, data) {
    const frontEnd = new FrontEnd();
    const env = { language_of: (plan, voice) => frontEnd.#languageOf(plan, voice) };
    const { instance } = await WebAssembly.instantiate(code, { env });
    frontEnd.#exports = /** @type {any} */ (instance.exports);
    if (!frontEnd.#exports.take_step) throw new BundleError("The text.wasm is of another version. Build the bundle again.");
    if (data) {
      const place = frontEnd.#call("take_file", data.length);
      frontEnd.#bytes(place, data.length).set(data);
      frontEnd.#call("open_file");
    }
    return frontEnd;
  }

  /**
   * Begin a plan. `free` has to be called at its end.
   * @param {Request} request
   * @param {(voice: string) => string} language returns the letter of a voice's language, or throws an InputError
   */
  plan(request, language) {
    const plan = this.#call("new_plan");
    if (!plan) throw new MemoryError("There is not enough memory for a plan.");
    this.#languages.set(plan, language);
    const finite = (_, value) => (value === Infinity ? Number.MAX_VALUE : value); // as JSON has it
    const bytes = new TextEncoder().encode(JSON.stringify(request, finite));
    this.#bytes(this.#call("take_request", plan, bytes.length), bytes.length).set(bytes);
    this.#call("start_plan", plan, bytes.length);
    return {
      /** Append text. @param {string} text */
      give: (text) => this.#give(plan, text, 0),
      /** Append a line of phonemes. @param {string} phonemes */
      givePhonemes: (phonemes) => this.#give(plan, phonemes, 1),
      /** End the text. */
      end: () => this.#call("end_units", plan),
      /** Take the next step, and pass on notices. Throws an InputError. @param {import("./notices.js").Warn} warn */
      step: (warn) => this.#step(plan, warn),
      /** Set the durations of the draft's tokens, in frames at speed 1. @param {Float32Array} durations */
      setDurations: (durations) => {
        const place = this.#call("take_request", plan, durations.byteLength);
        new Float32Array(this.#exports.memory.buffer, place, durations.length).set(durations);
        this.#call("set_durations", plan);
      },
      /** Free the memory. */
      free: () => {
        this.#languages.delete(plan);
        this.#call("free_plan", plan);
      },
    };
  }

  #give(plan, text, isPhonemes) {
    const place = this.#call("take_request", plan, 2 * text.length);
    const units = new Uint16Array(this.#exports.memory.buffer, place, text.length);
    for (let unit = 0; unit < text.length; unit++) units[unit] = text.charCodeAt(unit);
    this.#call("give_units", plan, text.length, isPhonemes);
  }

  /** @returns {Step} */
  #step(plan, warn) {
    try {
      const { notices, ...step } = JSON.parse(this.#text(this.#call("take_step", plan)));
      passOn(notices, warn);
      return step;
    } catch (error) {
      if (error instanceof InputError) passOn(JSON.parse(this.#text(this.#call("notices_of", plan))), warn);
      throw error;
    }
  }

  /** Return the letter of a voice's language as a number, or 0 with the reason in `message_buffer`. */
  #languageOf(plan, voice) {
    try {
      return this.#languages.get(plan)?.(this.#text(voice)).charCodeAt(0) ?? 0;
    } catch (error) {
      const message = new TextEncoder().encodeInto(error.message, this.#bytes(this.#exports.message_buffer(), MESSAGE));
      this.#bytes(this.#exports.message_buffer(), MESSAGE + 1)[message.written] = 0;
      return 0;
    }
  }

  /**
   * Call a function. A failure in C traps and leaves the stack as it is.
   * @param {string} name
   * @param {...number} values
   * @returns {number}
   */
  #call(name, ...values) {
    const { __stack_pointer: stack, [name]: called } = this.#exports;
    const top = stack.value;
    try {
      return called(...values) >>> 0;
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      stack.value = top;
      const place = this.#exports.last_error();
      const [kind] = new Int32Array(this.#exports.memory.buffer, place, 1);
      throw new (ERRORS[kind] ?? BundleError)(this.#text(place + TEXT) || error.message);
    }
  }

  #text(place) {
    const all = this.#bytes(place);
    return new TextDecoder().decode(all.subarray(0, all.indexOf(0)));
  }

  #bytes(place, size = undefined) {
    return new Uint8Array(this.#exports.memory.buffer, place, size);
  }
}

/** @param {string[][]} notices each a sentence, and then its words @param {import("./notices.js").Warn} warn */
function passOn(notices, warn) {
  for (const [notice, ...words] of notices) warn(notice, words);
}
