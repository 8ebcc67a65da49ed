/** The page's last line: what speaks, how fast, and where its interface is described. */

import { byId } from "./dom.js";

/** @typedef {import("../runtime/remote.js").Way} Way */

/** @type {Way | null} */
let way = null;
/** @type {number | undefined} */
let threads;

/** @param {Way} result */
export function showWay(result) {
  way = result;
  showThreads(threads);
}

/** Show the number of threads; undefined if a server computes. @param {number} [count] */
export function showThreads(count) {
  threads = count;
  const by = way?.computes === "gpu" ? "its GPU" : threads === 1 ? "one thread" : `${threads} threads`;
  byId("threads").textContent = threads === undefined ? "" : `Computed in this browser, by ${by}. ${way?.notice ?? ""}`.trim();
}

/** @param {import("../synthesizer.js").Synthesizer} synthesizer */
export async function showBundle(synthesizer) {
  byId("bundle").textContent = (await synthesizer.bundle?.()) ?? "";
  const docs = /** @type {HTMLAnchorElement} */ (byId("docs"));
  docs.hidden = !synthesizer.docs;
  if (synthesizer.docs) docs.href = synthesizer.docs;
}

/** @param {number} factor seconds of speech per second */
export function showSpeed(factor) {
  byId("pace").textContent = `${factor < 9.95 ? factor.toFixed(1) : Math.round(factor)}× real time`;
}
