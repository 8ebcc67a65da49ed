/** Files of a speech, and the link to it. */

import { srt } from "../captions/srt.js";
import { webVtt } from "../captions/webvtt.js";
import { wavFile } from "../wav.js";
import { encoder, mp3File } from "./mp3.js";
import { wordsWithMarks } from "./shown.js";

/** @typedef {import("./record.js").Record} Record */

/** Suffix -> what makes the file of a record. @type {Map<string, (record: Record) => Blob | Promise<Blob>>} */
const FILES = new Map([
  ["wav", (record) => new Blob(/** @type {BlobPart[]} */ (wavFile(record.pieces, record.sampleRate)), { type: "audio/wav" })],
  ["mp3", (record) => mp3File(/** @type {string} */ (encoder()), record.pieces, record.sampleRate)],
  ["srt", (record) => new Blob([srt(shown(record))], { type: "application/x-subrip" })],
  ["vtt", (record) => new Blob([webVtt(shown(record))], { type: "text/vtt" })],
]);

/** Suffixes of what can be saved in this page. */
export const suffixes = () => [...FILES.keys()].filter((suffix) => suffix !== "mp3" || encoder());

/** @param {Record} record @param {string} suffix one of `suffixes`
 * @returns {Promise<void>} rejected where the file cannot be made */
export async function save(record, suffix) {
  const make = FILES.get(suffix);
  if (!make) throw new Error(`No file of a speech is called .${suffix}.`);
  const url = URL.createObjectURL(await make(record));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${fileName(record.text)}.${suffix}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser may still be asking where to
}

/** @param {string} text @returns {string} its first words, as a file may be called everywhere */
export function fileName(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  let name = "";
  for (const word of words) {
    if (name.length + word.length > 40) break;
    name += (name && "-") + word;
  }
  return name || "speech";
}

/** @param {Record} record */
function shown(record) {
  const placed = record.words.filter((word) => word.source !== null);
  return wordsWithMarks(record.text, /** @type {(typeof placed[number] & {source: [number, number]})[]} */ (placed));
}
