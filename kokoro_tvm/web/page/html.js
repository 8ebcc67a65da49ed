/** Text of the blocks of an HTML page, as in `kokoro_tvm/runtime/documents/readers/html.py`. */

const words = (/** @type {string} */ names) => new Set(names.split(" "));
const BLOCKS = words(
  "address article aside blockquote body caption dd div dl dt fieldset figcaption figure footer form header hr li main ol p " +
    "pre section table tbody thead tr ul h1 h2 h3 h4 h5 h6",
);
const SILENT = words("script style template noscript svg math select textarea head nav rt rp");
const CELLS = words("td th");
const VOID = words("area base br col embed hr img input link meta source track wbr");
const ATTRIBUTE = /([^\s"'=/>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
const UNSEEN = /display\s*:\s*none|visibility\s*:\s*hidden/i;
const MARK = /^(?:\[?\d{1,4}\]?|\[?[a-z]\]|[*†‡§¶]+)$/; // mark of a note
const POWER = /(?:\d|(?<![\p{L}\p{N}_])\p{L}|(?<![\p{L}\p{N}_])(?:[b-df-hj-np-tvwxz]{2}|in|mi|yd))$/u; // base of a raised number
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const TAG = /<([A-Za-z][\w:-]*)(?![\w:-])((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>/g;

/** @param {string} source @returns {string} blocks with blank lines between them; nothing of the page is loaded or run */
export function textOfHtml(source) {
  // The page's policy reports styles even in a document that is never shown. So attributes are removed, and style sheets
  // become scripts, which do not run. Unlike HTML, XHTML has tags that close themselves.
  const plain = source.replace(/<(\/?)style\b/gi, "<$1script").replace(TAG, (_, name, rest) => `<${name}${kept(rest)}>${rest.endsWith("/") && !VOID.has(name) ? `</${name}>` : ""}`);
  const root = new DOMParser().parseFromString(plain, "text/html");
  /** @type {string[]} */
  const blocks = [];
  let block = "";
  /** @type {(number | null)[]} */
  const lists = []; // the number of the next item
  let number = ""; // of the item whose first block is read

  function end() {
    const lines = block.split("\n").map((line) => line.split(/\s+/).filter(Boolean).join(" "));
    const result = lines.filter(Boolean).join("\n");
    if (result) blocks.push(number + result);
    if (result) number = "";
    block = "";
  }

  /** @param {Node} node */
  function read(node) {
    if (node.nodeType === Node.TEXT_NODE || node.nodeType === Node.CDATA_SECTION_NODE) {
      block += (node.nodeValue ?? "").replace(/\s+/g, " ");
      return;
    }
    const element = node instanceof Element ? node : null;
    const name = element?.localName ?? "";
    if (name === "math" && element?.hasAttribute("alttext")) block += ` $${element.getAttribute("alttext")}$ `;
    if (SILENT.has(name) || element?.hasAttribute("hidden")) return;
    if (name === "br") block += "\n";
    if (CELLS.has(name) && block.trim()) block = `${block.trimEnd()}, `;
    if (BLOCKS.has(name)) end();
    if (name === "ol" || name === "ul") lists.push(name === "ol" ? Number(element?.getAttribute("start") ?? 1) : null);
    const next = name === "li" ? (lists.at(-1) ?? null) : null;
    if (next !== null) {
      const own = Number(element?.getAttribute("value") ?? next);
      number = `${own}. `;
      lists[lists.length - 1] = own + 1;
    }
    const before = block;
    node.childNodes.forEach(read);
    if (name === "sup" && block.startsWith(before)) block = before + raised(before, block.slice(before.length).trim());
    if (BLOCKS.has(name)) end();
    if (name === "ol" || name === "ul") lists.pop();
    if (name === "ol" || name === "ul" || name === "li") number = "";
  }

  read(root);
  end();
  return blocks.join("\n\n");
}

/** Return the attributes of a tag that are kept: whether it is read, and its number. @param {string} source */
function kept(source) {
  const result = Array.from(source.matchAll(ATTRIBUTE), ([, name, ...values]) => /** @type {const} */ ([name.toLowerCase(), values.find((value) => value !== undefined) ?? ""]));
  const attributes = new Map(result.reverse());
  const isMark = attributes.get("epub:type") === "noteref" || attributes.get("role") === "doc-noteref";
  const isHidden = attributes.has("hidden") || attributes.get("aria-hidden") === "true" || UNSEEN.test(attributes.get("style") ?? "");
  const numbers = ["start", "value"].filter((name) => /^\d{1,9}$/.test(attributes.get(name) ?? "")).map((name) => ` ${name}="${attributes.get(name)}"`);
  const formula = attributes.get("alttext")?.replace(/"/g, "&quot;");
  return `${isMark || isHidden ? " hidden" : ""}${numbers.join("")}${formula ? ` alttext="${formula}"` : ""}`;
}

/**
 * Return a raised number as a power after a digit, a single letter or a unit; after other words it marks a note.
 * @param {string} before
 * @param {string} text
 */
function raised(before, text) {
  if (/^\d+$/.test(text) && POWER.test(before.slice(-4))) return [...text].map((digit) => RAISED[Number(digit)]).join("");
  return MARK.test(text) ? "" : text;
}
