/** The text of the blocks of an HTML page, as `kokoro_tvm/runtime/readers/html.py` has it. */

const words = (/** @type {string} */ names) => new Set(names.split(" "));
const BLOCKS = words(
  "address article aside blockquote body caption dd div dl dt fieldset figcaption figure footer form header hr li main ol p " +
    "pre section table tbody thead tr ul h1 h2 h3 h4 h5 h6",
);
const SILENT = words("script style template noscript svg math select textarea head nav");
const CELLS = words("td th");
const VOID = words("area base br col embed hr img input link meta source track wbr");
const TAG = /<([A-Za-z][\w:-]*)(?![\w:-])((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>/g;

/** @param {string} source @returns {string} blocks with blank lines between them; nothing of the page is loaded or run */
export function textOfHtml(source) {
  // The page's policy reports styles, even of a document that is never shown: attributes go, and style sheets become scripts,
  // which are not run. Unlike HTML, XHTML has tags that close themselves.
  const plain = source.replace(/<(\/?)style\b/gi, "<$1script").replace(TAG, (_, name, rest) => `<${name}>${rest.endsWith("/") && !VOID.has(name) ? `</${name}>` : ""}`);
  const root = new DOMParser().parseFromString(plain, "text/html");
  /** @type {string[]} */
  const blocks = [];
  let block = "";

  function end() {
    const lines = block.split("\n").map((line) => line.split(/\s+/).filter(Boolean).join(" "));
    const found = lines.filter(Boolean).join("\n");
    if (found) blocks.push(found);
    block = "";
  }

  /** @param {Node} node */
  function read(node) {
    if (node.nodeType === Node.TEXT_NODE || node.nodeType === Node.CDATA_SECTION_NODE) {
      block += (node.nodeValue ?? "").replace(/\s+/g, " ");
      return;
    }
    const name = node instanceof Element ? node.localName : "";
    if (SILENT.has(name)) return;
    if (name === "br") block += "\n";
    if (CELLS.has(name) && block.trim()) block = `${block.trimEnd()}, `;
    if (BLOCKS.has(name)) end();
    node.childNodes.forEach(read);
    if (BLOCKS.has(name)) end();
  }

  read(root);
  end();
  return blocks.join("\n\n");
}
