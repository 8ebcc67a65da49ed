/** What computes speech, where this browser does: below everything else. */

import { byId } from "./dom.js";

/** @typedef {import("../runtime/remote.js").Way} Way */

/** @type {Way | null} */
let way = null;
/** @type {number | undefined} */
let threads;

/** @param {Way} found */
export function showWay(found) {
  way = found;
  show();
}

/** How many threads compute; undefined where a server does. @param {number} [count] */
export function showThreads(count) {
  threads = count;
  show();
}

function show() {
  byId("threads").hidden = threads === undefined;
  const by = way?.computes === "gpu" ? "its GPU" : threads === 1 ? "one thread" : `${threads} threads`;
  byId("threads").textContent = `Computed in this browser, by ${by}. ${way?.notice ?? ""}`.trim();
}
