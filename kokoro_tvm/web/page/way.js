/** What computes the speech in this browser, shown at the end of the page. */

import { byId } from "./dom.js";

/** @typedef {import("../runtime/remote.js").Way} Way */

/** @type {Way | null} */
let way = null;
/** @type {number | undefined} */
let threads;

/** @param {Way} result */
export function showWay(result) {
  way = result;
  show();
}

/** Show the number of threads; undefined if a server computes. @param {number} [count] */
export function showThreads(count) {
  threads = count;
  show();
}

function show() {
  byId("threads").hidden = threads === undefined;
  const by = way?.computes === "gpu" ? "its GPU" : threads === 1 ? "one thread" : `${threads} threads`;
  byId("threads").textContent = `Computed in this browser, by ${by}. ${way?.notice ?? ""}`.trim();
}
