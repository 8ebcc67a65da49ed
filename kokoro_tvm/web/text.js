/** From text to phonemes, in the language of the voice; text that cannot be spoken whole is refused. */

import { InputError } from "./errors.js";
import { aliased } from "./frontend/links.js";
import { quoteAscii, strip } from "./frontend/python.js";
import { phonemesOf } from "./frontend/tokens.js";
import { quoted } from "./notices.js";
import { sorted } from "./phonemes.js";

/** @typedef {import("./frontend/front_end.js").FrontEnd} FrontEnd */
/** @typedef {import("./frontend/source.js").SourceText} SourceText */
/** @typedef {import("./frontend/tokens.js").Utterance} Utterance */
/** @typedef {import("./notices.js").Warn} Warn */

/** Throw an InputError for text that is empty, broken, or without letter or digit. @param {SourceText} source */
export function checkText(source) {
  const { text } = source;
  if (!strip(text)) throw new InputError("There is nothing to speak: the text is empty.");
  if (text.includes("\0")) {
    throw new InputError("The text holds a NUL byte, so it is probably not text. Remove it first.");
  }
  if (/\p{Cs}/u.test(text)) throw new InputError("The text is not valid UTF-8. Convert it to UTF-8 first.");
  if (!source.speakable) {
    throw new InputError(`There is nothing to speak: ${quoted(text, 20)} has no letter or digit.`);
  }
}

/** Utterances of a text, one a paragraph, in the language of `code` (a letter of LANGUAGES); none where no phonemes came
 * of it.
 *
 * Notices name what was left out, and which words no lexicon has. Throws an InputError where the text cannot be spoken.
 * @param {SourceText} source @param {string} code @param {FrontEnd} frontEnd @param {Warn} warn @returns {Utterance[]} */
export function spokenUtterances(source, code, frontEnd, warn) {
  const spoken = aliased(source);
  checkText(spoken);
  const reading = frontEnd.read(spoken, code);
  reading.notices.forEach(warn);
  return reading.utterances.filter((utterance) => phonemesOf(utterance.tokens));
}

/** What `spokenUtterances` gives, of one sentence; none where it has nothing to speak, with a notice if that is more than
 * marks.
 * @param {SourceText} source @param {string} code @param {FrontEnd} frontEnd @param {Warn} warn @returns {Utterance[]} */
export function readUtterances(source, code, frontEnd, warn) {
  const { text } = source;
  const replaced = aliased(source);
  if (!replaced.speakable) {
    if (text.includes("\0")) checkText(source);
    const lost = sorted(new Set(text.match(/[\p{So}\p{Sc}\p{Sk}\p{Cs}\p{Co}]/gu)));
    if (lost.length) warn(`Left out, because it has no letter or digit: ${lost.map(quoteAscii).join(" ")}`);
    return [];
  }
  const spoken = spokenUtterances(replaced, code, frontEnd, warn);
  if (!spoken.length) warn(`Left out, because no phonemes came of it: ${quoted(text)}`);
  return spoken;
}
