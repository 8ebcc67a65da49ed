/** From text or phonemes to words of sentences, each sentence as soon as its end is known. */

import { SPACE, endOf, isAlnum, isSpace, lstrip } from "./characters.js";
import { InputError } from "./errors.js";
import { MARKS } from "./marks.js";
import { parse } from "./markup/index.js";
import { markedPassages, voiceOf } from "./markup/passages.js";
import { listedSymbols } from "./markup/values.js";
import { quoted } from "./notices.js";
import { clean, hasSound } from "./phonemes.js";
import { Word } from "./plan.js";
import { inScript } from "./scripts.js";
import { SourceText } from "./source.js";
import { LANGUAGES } from "./voices.js";

/** @typedef {import("./division.js").Breath} Breath */
/** @typedef {import("./front_end.js").FrontEnd} FrontEnd */
/** @typedef {import("./front_end.js").Token} Token */
/** @typedef {Pick<Token, "start" | "end" | "phonemes" | "space">} Spoken */
/** @typedef {import("./markup/items.js").Known} Known */
/** @typedef {import("./markup/items.js").Manner} Manner */

const MARK = [...MARKS].join("");
const PARTS = new RegExp(`[${MARK}]+|[^${SPACE}${MARK}]+`, "gu");

/**
 * Yield the sentences of a text. ssml, markup: see `parse`.
 *
 * Throws an InputError for invalid markup, and if nothing can be spoken.
 * @param {string | Iterable<string>} text
 * @param {Known} known
 * @param {FrontEnd} frontEnd
 * @param {boolean | null} [ssml]
 * @param {boolean} [markup]
 * @returns {Iterable<Breath>}
 */
export function* sentencesOfText(text, known, frontEnd, ssml = null, markup = true) {
  let [spoken, lead] = [false, 0]; // lead: requested seconds before the first word
  let [seen, language] = ["", ""]; // the first text, or the first one with a letter or digit and its language
  for (const passage of markedPassages(parse(text, known, ssml, markup))) {
    if (!language && [...passage.source.text].some(isAlnum)) {
      [seen, language] = [passage.source.text, known.language(voiceOf(passage))];
    }
    seen ||= passage.source.text;
    const found = wordsOfPassage(passage, known, frontEnd);
    const { boundary, pause } = passage;
    const voice = voiceOf(passage);
    if (found.length && !spoken) {
      spoken = true;
      if (lead) yield { words: [], boundary: "clause", pause: lead, voice: null };
    }
    for (const words of found.slice(0, -1)) yield { words, boundary: "sentence", pause: null, voice };
    if (found.length) yield { words: found[found.length - 1], boundary, pause, voice };
    else if (spoken && pause !== null) yield { words: [], boundary, pause, voice: null };
    else lead += pause ?? 0;
  }
  if (!spoken) {
    if (language) {
      const shown = quoted(seen, 20);
      throw new InputError(
        `There is nothing to speak: ${LANGUAGES[language]} has no phonemes for ${shown}${inScript(shown)}. Choose a voice of ` +
          "another language.",
      );
    }
    const empty = lead ? "the text has pauses alone" : "the text is empty";
    const reason = seen ? `${quoted(seen, 20)} has no letter or digit` : empty;
    throw new InputError(`There is nothing to speak: ${reason}.`);
  }
}

/** Return the words of each non-empty utterance of a passage. @returns {Word[][]} */
function wordsOfPassage(passage, known, frontEnd) {
  const { text, links } = passage.source;
  if (!text) return [];
  const { utterances, notices } = frontEnd.read(text, links, known.language(voiceOf(passage)));
  notices.forEach(known.warn);
  const found = utterances.map((tokens) => wordsOf(tokens, passage.source, passage.manners));
  return found
    .filter((words) => words.length)
    .map((words, index) => {
      const begun = [words[0].with({ joined: index === 0 && passage.joined }), ...words.slice(1)];
      return [...begun.slice(0, -1), begun[begun.length - 1].with({ space: "" })];
    });
}

/**
 * Yield every string of phonemes as one utterance; spans are places in the strings, joined by line breaks.
 * @param {Iterable<string>} phonemes
 * @param {Pick<Known, "symbols" | "warn">} known
 * @returns {Iterable<Breath>}
 */
export function* sentencesOfPhonemes(phonemes, { symbols, warn }) {
  const texts = Array.from(phonemes, clean);
  const speakable = texts.map((text) => hasSound(text, symbols));
  if (!speakable.includes(true)) {
    const unknown = [...texts.join(" ")].filter((symbol) => !symbols.has(symbol) && !isSpace(symbol));
    throw new InputError(
      `There is nothing to speak: the model knows none of the phonemes (${listedSymbols(unknown)}).`,
    );
  }
  let start = 0;
  for (const [place, text] of texts.entries()) {
    if (speakable[place]) {
      const words = wordsOf(tokensOf(text), SourceText.of(text, start));
      yield { words, boundary: place === speakable.lastIndexOf(true) ? "end" : "paragraph", pause: null, voice: null };
    } else {
      warn(`Left out, because the model knows none of its symbols: ${quoted(text)}`);
    }
    start += text.length + 1;
  }
}

/**
 * Divide phonemes into words and marks with spans in the string.
 * @param {string} phonemes
 * @returns {Spoken[]}
 */
function tokensOf(phonemes) {
  const leading = phonemes.length - lstrip(phonemes).length;
  const blank = { start: 0, end: 0, phonemes: "", space: phonemes.slice(0, leading) };
  const found = [...phonemes.matchAll(PARTS)];
  const tokens = found.map((part, place) => {
    const space = phonemes.slice(endOf(part), found[place + 1]?.index);
    return { start: part.index, end: endOf(part), phonemes: part[0], space };
  });
  return leading ? [blank, ...tokens] : tokens;
}

/**
 * Return the words of tokens, with places in the source and the manner of their first character.
 *
 * Tokens of the same characters ("two", "dollars" for "$2") become one word, with the marks between them.
 * @param {Spoken[]} tokens
 * @param {SourceText} source
 * @param {Manner[]} [manners]
 * @returns {Word[]}
 */
function wordsOf(tokens, source, manners = []) {
  /** @type {Word[]} */
  const words = [];
  let [begin, end] = [0, 0]; // of the last word, in the text
  for (const token of tokens) {
    const same = token.start === begin && token.end === end;
    if (begin <= token.start && token.start < end && (same || !isMark(token))) {
      end = Math.max(end, token.end);
      const { symbols, rate, pitch } = words[words.length - 1];
      words[words.length - 1] = placed(source, begin, end, symbols + token.phonemes, token.space).with({ rate, pitch });
      continue;
    }
    const done = end;
    [begin, end] = [token.start, token.end];
    let word = placed(source, begin, end, token.phonemes, token.space);
    if (begin < manners.length) word = word.with({ rate: manners[begin].rate, pitch: manners[begin].pitch });
    const before = words[words.length - 1];
    words.push(before ? word.with({ joined: touch(before, source.text.slice(done, begin), word) }) : word);
  }
  return words;
}

/**
 * Return whether two words have no space between them. Text that the front end dropped between a word and a mark was
 * markup; between two words ("a/b") it stands for a space.
 */
function touch(before, between, word) {
  return before.spoken && word.spoken ? !between : ![...between].some(isSpace);
}

function placed(source, begin, end, phonemes, space) {
  const place = source.starts[begin] ?? 0;
  const [start, last] = begin < end ? source.span(begin, end) : [place, place];
  return new Word({ text: source.text.slice(begin, end), start, end: last, phonemes, space });
}

const isMark = ({ phonemes }) => phonemes !== "" && [...phonemes].every((symbol) => MARKS.has(symbol));
