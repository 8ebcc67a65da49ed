/** How a text with markup is read: the utterances of its paragraphs, with their places, and the pauses. */

import { InputError } from "../errors.js";
import { SourceText } from "../frontend/source.js";
import { quoted } from "../notices.js";
import { checkText, spokenUtterances } from "../text.js";
import { parse } from "./index.js";
import { markedSections, ownText, voiceOf } from "./passages.js";

/** @typedef {import("../frontend/tokens.js").Utterance} Utterance */

/** Utterances of a text, one a paragraph, divided at breaks too; spans are places in the text.
 *
 * An utterance without tokens is a pause. Notices name what was left out, and which words no lexicon has. Throws an
 * InputError for what cannot be spoken, and for markup that makes no sense.
 * @param {string} text @param {import("./items.js").Known} known
 * @param {import("../frontend/front_end.js").FrontEnd} frontEnd @param {boolean | null} [ssml]
 * @param {boolean} [markup] @returns {Utterance[]} */
export function readMarked(text, known, frontEnd, ssml = null, markup = true) {
  /** @type {Utterance[]} */
  const utterances = [];
  let speakable = false;
  for (const section of markedSections(parse(text, known, ssml, markup))) {
    /** @type {Utterance[]} */
    let found = [];
    const own = ownText(section);
    if (own.speakable) {
      speakable = true;
      found = spokenUtterances(own, known.language(voiceOf(section)), frontEnd, known.warn).map(({ tokens }) => ({
        tokens: tokens.map((token) => placed(token, section.source)),
        pause: null,
      }));
    }
    if (section.pause !== null) {
      const last = found.pop() ?? { tokens: [], pause: null };
      found.push({ ...last, pause: section.pause });
    }
    utterances.push(...found);
  }
  if (!utterances.some((utterance) => utterance.tokens.length)) {
    checkText(SourceText.of(text));
    throw new InputError(
      speakable
        ? `There is nothing to speak: no phonemes came of ${quoted(text)}.`
        : "There is nothing to speak: outside of markup, the text has no letter or digit.",
    );
  }
  return utterances;
}

function placed(token, source) {
  const [start, end] = token.start < token.end ? source.span(token.start, token.end) : [0, 0];
  return { ...token, start, end };
}
