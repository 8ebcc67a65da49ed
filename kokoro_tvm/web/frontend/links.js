/** What links of a text ask for: `(/phonemes/)`, `(-1)` for a word's stress, `(#a#)` for a number's flags. */

import { edit, linkFrom } from "./source.js";

/** @typedef {import("./source.js").Link} Link */
/** @typedef {import("./source.js").SourceText} SourceText */

/** The text with other texts in the place of what is to be spoken as they are. @param {SourceText} source */
export function aliased(source) {
  const aliases = source.links.filter((link) => link.alias !== null);
  if (!aliases.length) return source;
  const others = source.withLinks(source.links.filter((link) => link.alias === null));
  return others.edited(aliases.map((link) => edit([link.start, link.end], link.alias ?? "")));
}

/** What the round brackets ask for, without its place; null for what is not known.
 * @param {string} request @returns {Link | null} */
export function linkOf(request) {
  if (/^[-+]?[0-9]+$/.test(request) || ["0.5", "+0.5", "-0.5"].includes(request)) {
    return linkFrom(0, 0, { stress: Number(request) });
  }
  const marks = request.length > 1 ? request[0] + request[request.length - 1] : "";
  if (marks === "//") return linkFrom(0, 0, { phonemes: request.replace(/^\/+|(?<!\/)\/+$/g, "") });
  if (marks === "##") return linkFrom(0, 0, { flags: request.replace(/^#+|(?<!#)#+$/g, "") });
  return null;
}
