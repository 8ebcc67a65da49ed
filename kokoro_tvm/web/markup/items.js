/** Result of parsing any markup: stretches of text with their manners, and breaks between them. */

/**
 * How a stretch is spoken. voice: null for the request's; rate: factor of the speed; pitch: factor of the predicted
 * pitch.
 * @typedef {{voice: string | null, rate: number, pitch: number}} Manner
 */

/** @type {Manner} */
export const PLAIN = Object.freeze({ voice: null, rate: 1, pitch: 1 });

/** @param {Manner} a @param {Manner} b */
export const sameManner = (a, b) => a.voice === b.voice && a.rate === b.rate && a.pitch === b.pitch;

/**
 * Text without markup, its places in the parsed text, and its links, each within a line.
 * @typedef {{source: import("../source.js").SourceText, manner: Manner}} Stretch
 */

/**
 * The end of an utterance: a sentence or paragraph, a pause in seconds, another voice.
 *
 * boundary: decides about the pause if none is requested; "clause" leaves it to the marks.
 * @typedef {{boundary: import("../joins.js").Boundary, pause: number | null}} Break
 */

/** @param {Partial<Break>} [given] @returns {Break} */
export const breakOf = (given = {}) => ({ boundary: "clause", pause: null, ...given });

/** @typedef {Stretch | Break} Item */

/**
 * What markup may name: phonemes and voices.
 *
 * language: returns a voice's language as a letter (null: the request's) or throws an InputError; warn: takes notices.
 * @typedef {{symbols: import("../phonemes.js").Vocabulary, language: (voice: string | null) => string, warn:
 *   import("../notices.js").Warn}} Known
 */
