/** What every markup is parsed into: stretches of text, each with its manner, and the breaks between them. */

/**
 * How a stretch is spoken: in which voice (null: the one of the request), how much faster than the request, at which
 * factor of the predicted pitch.
 *
 * @typedef {{voice: string | null, rate: number, pitch: number}} Manner
 */

/** @type {Manner} */
export const PLAIN = Object.freeze({ voice: null, rate: 1, pitch: 1 });

/** @param {Manner} a @param {Manner} b */
export const sameManner = (a, b) => a.voice === b.voice && a.rate === b.rate && a.pitch === b.pitch;

/**
 * Text without markup, with its places in what was parsed, and with its links, each within a line.
 *
 * @typedef {{source: import("../source.js").SourceText, manner: Manner}} Stretch
 */

/**
 * An end of what is spoken as one: a sentence or paragraph, a pause in seconds, another voice.
 *
 * boundary: what a pause follows from where none is requested; "clause" leaves it to the marks.
 *
 * @typedef {{boundary: import("../joins.js").Boundary, pause: number | null}} Break
 */

/** @param {Partial<Break>} [given] @returns {Break} */
export const breakOf = (given = {}) => ({ boundary: "clause", pause: null, ...given });

/** @typedef {Stretch | Break} Item */

/**
 * What markup may name: symbols of phonemes, and voices.
 *
 * language: a voice's language as a letter, of null that of the request; throws an InputError for no voice. warn: takes
 * notices.
 *
 * @typedef {{symbols: import("../phonemes.js").Vocabulary, language: (voice: string | null) => string,
 *   warn: import("../notices.js").Warn}} Known
 */
