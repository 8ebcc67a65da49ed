/** Scripts of characters (the table of kokoro_tvm/runtime/text/scripts.py). */

import { isAlnum } from "./characters.js";

/** @type {[number, number, string][]} */
export const RANGES = [
[65, 591, "Latin"],
[880, 1023, "Greek"],
[1024, 1327, "Cyrillic"],
[1328, 1423, "Armenian"],
[1424, 1535, "Hebrew"],
[1536, 1791, "Arabic"],
[1872, 1919, "Arabic"],
[2208, 2303, "Arabic"],
[2304, 2431, "Devanagari"],
[2432, 2559, "Bengali"],
[2560, 2687, "Gurmukhi"],
[2688, 2815, "Gujarati"],
[2816, 2943, "Odia"],
[2944, 3071, "Tamil"],
[3072, 3199, "Telugu"],
[3200, 3327, "Kannada"],
[3328, 3455, "Malayalam"],
[3456, 3583, "Sinhala"],
[3584, 3711, "Thai"],
[3712, 3839, "Lao"],
[3840, 4095, "Tibetan"],
[4096, 4255, "Burmese"],
[4256, 4351, "Georgian"],
[4352, 4607, "Korean"],
[4608, 5023, "Ethiopic"],
[5024, 5119, "Cherokee"],
[6016, 6143, "Khmer"],
[6144, 6319, "Mongolian"],
[7680, 7935, "Latin"],
[7936, 8191, "Greek"],
[12352, 12543, "Japanese"],
[12592, 12687, "Korean"],
[12784, 12799, "Japanese"],
[13312, 19903, "Chinese"],
[19968, 40959, "Chinese"],
[44032, 55215, "Korean"],
[63744, 64255, "Chinese"],
[64336, 65023, "Arabic"],
[65136, 65279, "Arabic"],
[65382, 65439, "Japanese"],
[131072, 205743, "Chinese"]
];

/** Return the scripts of a text for a message, such as " (Japanese, Chinese script)", or "". @param {string} text */
export function inScript(text) {
  const scripts = new Set([...text].filter(isAlnum).map((char) => scriptOf(char.codePointAt(0) ?? 0)));
  scripts.delete("");
  return scripts.size ? ` (${[...scripts].join(", ")} script)` : "";
}

/** @param {number} code */
const scriptOf = (code) => RANGES.find(([first, last]) => first <= code && code <= last)?.[2] ?? "";
