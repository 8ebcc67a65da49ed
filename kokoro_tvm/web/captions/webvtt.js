/** WebVTT captions: cues with the time of every word, which browsers highlight with `::cue(:past)`. */

import { clock } from "./clock.js";
import { cues, wordsShown } from "./lines.js";

const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * Write captions as WebVTT. Source: W3C, WebVTT: The Web Video Text Tracks Format.
 * @param {import("../words.js").TimedWord[]} timeline
 */
export const writeWebVtt = (timeline) => webVtt(wordsShown(timeline));

/** Write words with marks as WebVTT. @param {import("./lines.js").CueWord[]} words */
export function webVtt(words) {
  const blocks = cues(words).map(
    (cue) => `${clock(cue.start, ".")} --> ${clock(cue.end, ".")}\n${payload(cue)}\n`,
  );
  return ["WEBVTT\n", ...blocks].join("\n");
}

/** Return lines with a timestamp before every word but the first. Timestamps have to lie inside the cue. */
function payload(cue) {
  const written = (word, place) => {
    const stamp = cue.start < word.start && word.start < cue.end ? `<${clock(word.start, ".")}>` : "";
    return (place && !word.joined ? " " : "") + stamp + word.text.replace(/[&<>]/g, (char) => ESCAPED[char]);
  };
  return cue.lines.map((line) => line.map(written).join("")).join("\n");
}
