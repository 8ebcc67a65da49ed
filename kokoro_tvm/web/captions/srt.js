/** SubRip: numbered cues with times to a millisecond. */

import { clock } from "./clock.js";
import { cues, textOf, wordsShown } from "./lines.js";

/** Captions as SRT. Times are rounded to milliseconds. @param {import("../words.js").TimedWord[]} timeline */
export const writeSrt = (timeline) => srt(wordsShown(timeline));

/** The same of words that have their marks. @param {import("./lines.js").CueWord[]} words */
export const srt = (words) =>
  cues(words)
    .map((cue, place) => `${place + 1}\n${clock(cue.start, ",")} --> ${clock(cue.end, ",")}\n${textOf(cue)}\n`)
    .join("\n");
