/** Progress of loading, next to the page's problems. */

import { byId, element } from "./dom.js";

/** @typedef {import("../runtime/pieces.js").Progress} Progress */

const MEGABYTE = 1e6;

/** Show the progress, and hide it at the end. @param {Progress} progress */
export function showLoading(progress) {
  const { loaded, total } = progress;
  const box = document.getElementById("loading") ?? made();
  const [bar, line] = box.children;
  Object.assign(bar, { max: total, value: loaded });
  line.textContent = sentence(progress);
  box.hidden = loaded === total && !progress.full;
  /** @type {HTMLElement} */ (bar).hidden = loaded === total;
}

/** @param {Progress} progress @returns {string} */
export function sentence({ loaded, total, offline, full }) {
  const left = `${Math.ceil((total - loaded) / MEGABYTE)} of ${Math.ceil(total / MEGABYTE)} MB are left to load.`;
  if (loaded === total) return full ? "This browser has no room to keep what was loaded: the next visit loads it again." : "";
  if (offline) return `There is no connection. ${left} Loading goes on when the connection is back.`;
  return full ? `${left} This browser has no room to keep all of it.` : left;
}

function made() {
  const bar = element("progress", { "aria-label": "Loading" });
  const box = element("div", { id: "loading", class: "loading soft" }, bar, element("span", {}));
  byId("problem").before(box);
  return box;
}
