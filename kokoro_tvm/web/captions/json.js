/** JSON captions: words, marks and phonemes with their times, and the cues. */

import { cues, textOf, wordsShown } from "./lines.js";

const rounded = (seconds) => Number(seconds.toFixed(6));

/**
 * Write captions as JSON: seconds, samples, and units of the source for every word.
 * @param {import("../words.js").TimedWord[]} timeline
 * @param {number} seconds that the speech lasts
 */
export function writeJson(timeline, seconds) {
  const node = {
    duration: rounded(seconds),
    cues: cues(wordsShown(timeline)).map((cue) => ({
      text: textOf(cue), start: rounded(cue.start), end: rounded(cue.end),
    })),
    words: timeline.map((word) => ({
      text: word.text,
      source: word.source,
      spoken: word.spoken,
      ...times(word),
      phonemes: word.phonemes.map((phoneme) => ({ symbol: phoneme.symbol, ...times(phoneme) })),
    })),
  };
  return `${JSON.stringify(node, null, 1)}\n`;
}

const times = ({ start, end, startSample, endSample }) => ({
  start: rounded(start), end: rounded(end), samples: [startSample, endSample],
});
