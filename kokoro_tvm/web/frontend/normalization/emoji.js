/** Emoji by their names: they are read, as screen readers do, because a text may say "👍" and nothing else. */

import { nameOf } from "../names.js";
import { PICTURE } from "../pictures.js";
import { Pattern, charAt, charBefore, isAlnum, isAscii, isSpace } from "../python.js";
import { edit } from "../source.js";
import { rewrite } from "./rules.js";

const CHANGES = "[\\ufe0e\\ufe0f\\U0001f3fb-\\U0001f3ff\\U000e0020-\\U000e007f]"; // its looks: skin, colour, region
const ONE = `${PICTURE}${CHANGES}*`;
const EMOJI = new Pattern(
  "(?P<flag>[\\U0001f1e6-\\U0001f1ff]{2})" +
    "|(?P<keycap>[0-9#*]\\ufe0f?\\u20e3)" +
    `|(?P<joined>${ONE}(?:\\u200d(?:${ONE}|[\\u2640\\u2642\\u2695\\u2696]\\ufe0f?)){0,9})` +
    `|(?P<change>${CHANGES}|\\u200d)`,
);
const MODIFIER = new Pattern(CHANGES);
// Where Unicode's name is not what the picture is called.
const NAMES = {
  "❤": "red heart", "♥": "heart", "☺": "smiling face", "☹": "frowning face", "👍": "thumbs up",
  "👎": "thumbs down", "😂": "face with tears of joy", "🙏": "folded hands", "💯": "hundred points",
  "✨": "sparkles", "🔥": "fire", "💩": "pile of poo", "✔": "check mark", "✅": "check mark", "❌": "cross mark",
  "⭐": "star", "☀": "sun", "🤣": "rolling on the floor laughing", "♀": "woman", "♂": "man",
  "🙂": "slightly smiling face", "😊": "smiling face with smiling eyes",
};
const NOT_SAID = /^(?:heavy |white |black |emoji )+| (?:sign|symbol)$|-\d+$/g;

/** A picture is its name, several joined are theirs, a row of one is read once; skin tones are not.
 * @param {string} text */
export function* names(text) {
  let last = { end: -1, name: "" };
  for (const found of rewrite(EMOJI, text, nameIn)) {
    const follows = found.start === last.end;
    const again = follows && found.text === last.name && last.name !== "";
    if (follows || found.text) last = { end: found.end, name: found.text || last.name };
    yield edit([found.start, found.end], again || !found.text ? "" : spaced(text, found));
  }
}

function spaced(text, { start, end, text: name }) {
  const [before, after] = [charBefore(text, start), charAt(text, end)];
  const lead = start && !isSpace(before) ? " " : "";
  return lead + name + (after && (isAlnum(after) || !isAscii(after)) ? " " : "");
}

function nameIn(match) {
  const { flag, keycap, change, joined } = match.groups;
  if (flag) {
    return `flag ${Array.from(flag, (char) => String.fromCharCode(char.codePointAt(0) - 0x1f1e6 + 65)).join(" ")}`;
  }
  if (keycap) return { "#": "hash", "*": "star" }[keycap[0]] ?? keycap[0];
  if (change) return "";
  const pictures = MODIFIER.replace(joined, "").split("\u200d");
  const found = [...new Set(pictures.map(ofPicture).filter((name) => name))];
  return found.length ? found.join(" ") : null;
}

/** The name of one picture; "" for one that has none. */
const ofPicture = (picture) => (NAMES[picture] || nameOf(picture)).replace(NOT_SAID, "").replaceAll("-", " ");
