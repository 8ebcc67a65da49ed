/** Files of a speech, and the link to it. */

import { wavFile } from "../wav.js";
import { encoder, mp3File } from "./mp3.js";
import { optionsOf } from "./speaker.js";

/** @typedef {import("./record.js").Record} Record */
/** @typedef {import("./speaker.js").Request} Request */
/** @typedef {import("../synthesizer.js").Synthesizer} Synthesizer */

/** Suffix -> function that makes the file of a record. @type {Map<string, (record: Record) => Blob | Promise<Blob>>} */
const FILES = new Map([
  ["wav", (record) => new Blob(/** @type {BlobPart[]} */ (wavFile(record.pieces, record.sampleRate)), { type: "audio/wav" })],
  ["mp3", (record) => mp3File(/** @type {string} */ (encoder()), record.pieces, record.sampleRate)],
  ["srt", async (record) => new Blob([(await import("../captions/srt.js")).srt(await shown(record))], { type: "application/x-subrip" })],
  ["vtt", async (record) => new Blob([(await import("../captions/webvtt.js")).webVtt(await shown(record))], { type: "text/vtt" })],
]);
const NAMES = new Map([["wav", "WAV"], ["mp3", "MP3"], ["flac", "FLAC"], ["opus", "Opus"], ["aac", "AAC"], ["srt", "SRT"], ["vtt", "WebVTT"]]);

/**
 * List suffixes and names of the formats that this page can save.
 * @param {Synthesizer} synthesizer
 * @returns {[string, string][]}
 */
export function formats(synthesizer) {
  return [...NAMES].filter(([suffix]) => isLocal(suffix) || synthesizer.formats?.includes(suffix));
}

/** @param {string} suffix */
const isLocal = (suffix) => FILES.has(suffix) && (suffix !== "mp3" || encoder() !== null);

/** @param {Record} record of which @param {Request} request @param {Synthesizer} synthesizer spoke
 * @param {string} suffix one of `formats` @returns {Promise<void>} rejected where the file cannot be made */
export async function save(record, request, synthesizer, suffix) {
  const make = FILES.get(suffix);
  if (make && isLocal(suffix)) return keep(await make(record), record, suffix);
  if (!synthesizer.file) throw new Error(`No file of a speech is called .${suffix}.`);
  if (!record.complete || record.changed) {
    throw new Error("It would be of all the text, in one voice and at one speed. Speak it once more, or save what there is as WAV.");
  }
  const { text, ...options } = request;
  keep(await synthesizer.file(text, optionsOf(options), suffix), record, suffix);
}

/** @param {Blob} file @param {Record} record @param {string} suffix */
function keep(file, record, suffix) {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = `${fileName(record.text)}.${suffix}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser may still be asking for a folder
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
async function shown(record) {
  const { wordsWithMarks } = await import("./shown.js");
  const placed = record.words.filter((word) => word.source !== null);
  return wordsWithMarks(record.text, /** @type {(typeof placed[number] & {source: [number, number]})[]} */ (placed));
}
