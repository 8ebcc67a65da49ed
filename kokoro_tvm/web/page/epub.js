/** Text of EPUB 2 and 3: the documents of the spine in order, as in `kokoro_tvm/runtime/documents/readers/epub.py`. */

import { textOfHtml } from "./html.js";
import { Archive } from "../zip.js";

const TEXT = ["application/xhtml+xml", "text/html", "application/xml", "text/xml", "text/x-oeb1-document", "application/x-dtbook+xml"];
const RIGHTS = "META-INF/rights.xml";
const ENCRYPTION = "META-INF/encryption.xml";

/** @param {Uint8Array} data @param {(data: Uint8Array) => string} decoded @returns {Promise<string>} */
export async function readBook(data, decoded) {
  const archive = new Archive(/** @type {Uint8Array<ArrayBuffer>} */ (data));
  const xml = async (/** @type {string} */ path) => new DOMParser().parseFromString(decoded(await archive.read(path)), "application/xml");
  const encrypted = archive.has(ENCRYPTION) && named(await xml(ENCRYPTION), "EncryptedData").length > 0;
  if (archive.has(RIGHTS) || encrypted) throw new Error("it is encrypted (DRM).");
  const root = named(await xml("META-INF/container.xml"), "rootfile")[0]?.getAttribute("full-path") ?? "";
  const book = await xml(root);
  const items = new Map(named(book, "item").map((item) => [item.id, item]));
  const texts = [];
  for (const reference of named(book, "itemref")) {
    const item = items.get(reference.getAttribute("idref") ?? "");
    if (!item || !TEXT.includes(item.getAttribute("media-type") ?? "") || reference.getAttribute("linear") === "no") continue;
    if (item.getAttribute("properties")?.split(/\s+/).includes("nav")) continue; // the table of contents
    const path = beside(root, item.getAttribute("href") ?? "");
    if (archive.has(path)) texts.push(textOfHtml(decoded(await archive.read(path))));
  }
  return texts.filter(Boolean).join("\n\n");
}

/** @param {Document} document @param {string} name @returns {Element[]} whatever their namespace */
function named(document, name) {
  return [...document.getElementsByTagNameNS("*", name)];
}

/**
 * Return the path of a reference in a file of the archive.
 * @param {string} file
 * @param {string} reference
 */
function beside(file, reference) {
  return decodeURIComponent(new URL(reference, new URL(file, "archive:///")).pathname.slice(1));
}
