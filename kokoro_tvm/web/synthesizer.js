/**
 * What the page asks of whatever speaks: the types, and the one class of its errors.
 *
 * A module of a synthesizer exports `open(base)`, which resolves to a `Synthesizer`; the attribute
 * `data-synthesizer` of the page's root names the module.
 *
 * @typedef {object} Word
 * @property {string} word as it stands in the text
 * @property {number} start seconds from the start of the speech
 * @property {number} end seconds from the start of the speech
 * @property {[number, number]} [source] the slice of the spoken text (UTF-16 units) that it is, where that is known
 *
 * @typedef {object} Chunk what has been computed since the chunk before; either part may be empty
 * @property {Float32Array} audio mono samples, `sampleRate` a second, that follow those of the chunk before
 * @property {Word[]} words in order; they may come before their audio, and never after later audio
 *
 * @typedef {object} Options
 * @property {string} voice a name (`af_heart`) or a mix of them (`af_heart(2)+am_adam`)
 * @property {number} [speed] 0.25 to 4; above 1 is faster
 * @property {string} [lang] the letter of a language (`a`, `b`, `e`, …); that of the voice where it is left out
 * @property {boolean} [markup] whether markup is followed, else brackets and tags are text; it is where this is left out
 * @property {string[]} [omit] kinds of text that are left out: `citations`, `code`, `math`, `notes`
 * @property {(notice: string, words?: string[]) => void} [warn] takes what came up, a sentence, such as words that were left
 *   out; the words of the text that it is about, where they are known
 * @property {AbortSignal} [signal] ends the iteration with its reason, and the work behind it
 *
 * @typedef {object} Synthesizer
 * @property {number} sampleRate samples a second
 * @property {() => Promise<string[]>} voices names of all voices
 * @property {(text: string, options: Options) => AsyncIterable<Chunk>} stream speaks piece by piece
 * @property {string[]} [languages] letters of those it reads; all where it is left out
 * @property {() => Promise<Record<string, {name: string, tag?: string}> | null>} [spokenLanguages] those of its voices, by the
 *   letters that names begin with; Kokoro's where it is left out, or null
 * @property {string[]} [formats] what `file` encodes, by the suffixes of files
 * @property {(text: string, options: Options, format: string) => Promise<Blob>} [file] all of a speech as a file
 * @property {(file: File) => Promise<string[]>} [addVoices] takes the voices of a file, where this browser speaks; their names
 * @property {() => Promise<number>} [threads] how many compute, where this browser does
 * @property {() => Promise<string>} [bundle] the name of what speaks
 * @property {string} [docs] address of the documentation of its interface, relative to the page
 * @property {(key: string) => void} [authorize] takes the key that an error of kind `unauthorized` asks for
 */

/**
 * Error of a synthesizer.
 *
 * `kind`: `unreachable` (no answer), `unauthorized` (a key is required), `busy` (try again after `retryAfter`
 * seconds), `too_long` (of the text), `refused` (of the request; the message says why), `failed` (the server's
 * computation), `broken` (this browser's computation), `unloadable` (the bundle cannot be loaded), `unsupported` (this
 * browser lacks a feature), `memory` (there is too little of it), `interrupted` (the speech ended early), `no_audio`
 * (this browser plays none).
 */
export class SpeechError extends Error {
  /**
   * @param {string} kind
   * @param {string} message
   * @param {{retryAfter?: number | null, cause?: unknown}} [details]
   */
  constructor(kind, message, { retryAfter = null, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "SpeechError";
    this.kind = kind;
    this.retryAfter = retryAfter;
  }
}
