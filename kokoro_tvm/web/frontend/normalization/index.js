/** Written forms to the words they are read as, before the front end: each transformation keeps its places. */

import { free } from "../source.js";
import * as abbreviations from "./abbreviations.js";
import * as addresses from "./addresses.js";
import * as dates from "./dates.js";
import * as emoji from "./emoji.js";
import { fractions } from "./fractions.js";
import * as markdown from "./markdown.js";
import * as maths from "./maths.js";
import * as measures from "./measures.js";
import * as money from "./money.js";
import * as phones from "./phones.js";
import { ranges } from "./ranges.js";
import * as roman from "./roman.js";
import { streets } from "./streets.js";
import { clocks } from "./times.js";

/** Passes of an English. The order matters: what claims more comes first ("10-20 km" is read before "10-20"), and a tag
 * may be written by an entity and is none then. */
const english = (datesOf) => [
  markdown.tags,
  markdown.entities,
  markdown.marks,
  addresses.web,
  addresses.mail,
  addresses.tags,
  emoji.names,
  datesOf,
  clocks,
  phones.numbers,
  money.amounts,
  money.after,
  measures.prices,
  measures.units,
  measures.feet,
  fractions,
  ranges,
  roman.numerals,
  streets,
  abbreviations.titles,
  abbreviations.others,
  maths.powers,
  maths.signs,
];
const PASSES = { a: english(dates.american), b: english(dates.british) };

/** The text as it is to be read in American ("a") or British English ("b"); links stay as they are. What is read right as
 * it stands is not changed.
 * @param {import("../source.js").SourceText} source @param {"a" | "b"} code */
export function normalize(source, code) {
  source = source.edited(free(markdown.pictures(source), source.links));
  for (const edits of PASSES[code]) source = source.edited(free(edits(source.text), source.links));
  return source;
}
