/** The text of a file, by its suffix, as `kokoro_tvm/runtime/readers/` has it. */

import { readBook } from "./epub.js";
import { textOfHtml } from "./html.js";

const MOST_BYTES = 64 << 20;
const MOST_CHARACTERS = 2_000_000; // which are 40 hours
const TAGS = /<\/?[A-Za-z][^<>]*>|\{\\[^{}]*\}/g;
const TIMES = /^\s*\d+:\d{1,2}:\d{1,2}[,.]\d{1,3}\s*-->/;

/** Suffix -> what reads it. @type {Map<string, (data: Uint8Array) => string | Promise<string>>} */
const READERS = new Map([
  ...["txt", "text", "ssml", "md", "markdown"].map((suffix) => /** @type {const} */ ([suffix, decoded])),
  ...["html", "htm", "xhtml"].map((suffix) => /** @type {const} */ ([suffix, (/** @type {Uint8Array} */ data) => textOfHtml(decoded(data))])),
  ["srt", (data) => textOfSrt(decoded(data))],
  ["epub", (data) => readBook(data, decoded)],
]);

/** @param {File} file @returns {Promise<string>} rejected with an Error whose message says why it cannot be read */
export async function readFile(file) {
  const read = READERS.get(file.name.split(".").at(-1)?.toLowerCase() ?? "");
  if (!read) throw new Error(`${file.name} cannot be opened: choose a text, Markdown, HTML, EPUB or SRT file.`);
  if (file.size > MOST_BYTES) throw new Error(`${file.name} cannot be opened: it has more than ${MOST_BYTES >> 20} MB.`);
  let text;
  try {
    text = await read(new Uint8Array(await file.arrayBuffer()));
  } catch (error) {
    throw new Error(`${file.name} cannot be opened: ${/** @type {Error} */ (error).message}`, { cause: error });
  }
  if (!/[\p{L}\p{N}]/u.test(text)) throw new Error(`There is nothing to speak in ${file.name}: it has no letter and no digit.`);
  if (text.length > MOST_CHARACTERS) {
    throw new Error(`${file.name} has ${text.length.toLocaleString("en")} characters, too many for one speech. Divide it.`);
  }
  return text;
}

/** Bytes as text: UTF-8, or UTF-16 with a byte order mark. @param {Uint8Array} data */
function decoded(data) {
  const mark = (data[0] << 8) | data[1];
  const encoding = mark === 0xfffe ? "utf-16le" : mark === 0xfeff ? "utf-16be" : "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(data).replace(/\r\n?/g, "\n");
  } catch (error) {
    throw new Error("it is no text in UTF-8. Save it in UTF-8 first.", { cause: error });
  }
}

/** The cues of subtitles, a paragraph each, without numbers, times and tags. @param {string} source */
export function textOfSrt(source) {
  const cues = [];
  for (const block of source.trim().split(/\n(?:[^\S\n]*\n)+/)) {
    const lines = block.split("\n");
    const place = lines.slice(0, 2).findIndex((line) => TIMES.test(line));
    if (place < 0) throw new Error(`it is no SRT: "${lines[0].slice(0, 40)}" has no line with times (-->).`);
    cues.push(lines.slice(place + 1).join(" ").replace(TAGS, "").split(/\s+/).filter(Boolean).join(" "));
  }
  return cues.filter((cue) => /[\p{L}\p{N}]/u.test(cue)).join("\n\n");
}
