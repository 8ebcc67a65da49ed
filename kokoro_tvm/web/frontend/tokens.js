/** What the front end makes of a text: tokens with their phonemes and their place in the source. */

import { strip } from "./python.js";

/** A letter of the Latin script, as a regular expression. */
export const LATIN = "[A-Za-zÀ-ÖØ-öø-ɏ]";

/**
 * A word or a mark.
 *
 * text: as it is read, after normalisation ("two dollars" for "$2"); start, end: the units of the source text it
 * stands for, as a slice; tag: the part of speech (Penn Treebank), "" where none is known; phonemes: in the model's
 * alphabet, "" where nothing is spoken; space: what stands between it and the next token in the string of phonemes,
 * " " or ""; origin: what the phonemes come from ("lexicon", "letters", "given", "mark", ...).
 *
 * @typedef {{text: string, start: number, end: number, phonemes: string, space: string, tag: string,
 *   origin: string}} Token
 */

/**
 * Tokens that are spoken in one breath, and the seconds of silence requested after them; null leaves the pause to
 * the marks and the settings.
 *
 * @typedef {{tokens: Token[], pause: number | null}} Utterance
 */

/** The string of phonemes that tokens write, without space at both ends. @param {Token[]} tokens */
export const phonemesOf = (tokens) => strip(tokens.map((token) => token.phonemes + token.space).join(""));
