/** Text of files by suffix, as in `kokoro_tvm/runtime/documents/readers/`. */

import { readBook } from "./epub.js";
import { textOfHtml } from "./html.js";

const MOST_BYTES = 64 << 20;
const MOST_CHARACTERS = 2_000_000; // 40 hours of speech
const TAGS = /<\/?[A-Za-z][^<>]*>|\{\\[^{}]*\}/g;
const TIME = "\\s*\\d{1,3}:\\d{1,2}:\\d{1,2}[,.]\\d{1,3}\\s*";
const TIMES = new RegExp(`^${TIME}-->${TIME}`);
const DECLARED = /<\?xml[^<>]*\sencoding=["']([\w:.-]{1,40})|<meta\s[^<>]*charset=["']?([\w:.-]{1,40})/i;
const NUMBER = /^\s*\d+\s*$/;

/** Suffix -> reader. @type {Map<string, (data: Uint8Array) => string | Promise<string>>} */
const READERS = new Map([
  ...["txt", "text", "ssml", "md", "markdown"].map((suffix) => /** @type {const} */ ([suffix, decoded])),
  ...["html", "htm", "xhtml"].map((suffix) => /** @type {const} */ ([suffix, (/** @type {Uint8Array} */ data) => textOfHtml(decodedPage(data))])),
  ["srt", (data) => textOfSrt(decoded(data))],
  ["epub", (data) => readBook(data, decodedPage)],
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

/** Decode a page or XML in its declared encoding, else UTF-8. @param {Uint8Array} data */
function decodedPage(data) {
  const result = DECLARED.exec(new TextDecoder("latin1").decode(data.subarray(0, 1024)));
  const name = (result?.[1] ?? result?.[2] ?? "utf-8").toLowerCase();
  return decoded(data, name.startsWith("utf-16") ? "utf-8" : name);
}

/**
 * Decode bytes in the encoding of their byte order mark, else in the declared one.
 * @param {Uint8Array} data
 * @param {string} [declared]
 */
function decoded(data, declared = "utf-8") {
  const mark = (data[0] << 8) | data[1];
  const utf8 = mark === 0xefbb && data[2] === 0xbf;
  const encoding = mark === 0xfffe ? "utf-16le" : mark === 0xfeff ? "utf-16be" : utf8 ? "utf-8" : declared;
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(data).replace(/\r\n?/g, "\n");
  } catch (error) {
    throw new Error(`it is no text in ${encoding.toUpperCase()}. Save it in UTF-8 first.`, { cause: error });
  }
}

/**
 * Return the cues of subtitles as paragraphs, without numbers, times and tags. A cue ends at the times of the next.
 * @param {string} source
 */
export function textOfSrt(source) {
  const lines = source.trim().split("\n");
  /** @type {string[][]} */
  const cues = [];
  let number = 0;
  let cue = /** @type {string[] | null} */ (null);
  lines.forEach((line, place) => {
    if (line.includes("-->")) {
      const before = lines[place - 1] ?? "";
      const counted = NUMBER.test(before) && (Number(before) === number + 1 || !lines[place - 2]?.trim());
      if (counted) {
        number = Number(before);
        cue?.pop();
      }
      cue = [];
      if (TIMES.test(line)) cues.push(cue);
    } else if (line.trim()) cue?.push(line);
  });
  if (!cues.length) throw new Error(`it is no SRT: "${lines[0].slice(0, 40)}" has no line with times (-->).`);
  const texts = cues.map((item) => item.join(" ").replace(TAGS, "").split(/\s+/).filter(Boolean).join(" "));
  return texts.filter((text) => /[\p{L}\p{N}]/u.test(text)).join("\n\n");
}
