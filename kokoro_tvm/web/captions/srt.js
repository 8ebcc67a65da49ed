/** SubRip captions: numbered cues with times in milliseconds. */

import { clock } from "./clock.js";
import { cues, textOf, wordsShown } from "./lines.js";

/** Write captions as SRT. @param {import("../words.js").TimedWord[]} timeline */
export const writeSrt = (timeline) => srt(wordsShown(timeline));

/** Write words with marks as SRT. @param {import("./lines.js").CueWord[]} words */
export const srt = (words) =>
  cues(words)
    .map((cue, place) => `${place + 1}\n${clock(cue.start, ",")} --> ${clock(cue.end, ",")}\n${textOf(cue)}\n`)
    .join("\n");
