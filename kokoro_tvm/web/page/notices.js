/** Notices about the text that is spoken, such as words that were left out. */

import { byId, element } from "./dom.js";

const MOST = 20;
const box = byId("notices");
const list = /** @type {HTMLUListElement} */ (box.firstElementChild);

export function clearNotices() {
  list.replaceChildren();
  box.hidden = true;
}

/** Show a notice unless it is shown already; after `MOST`, only that there are more. @param {string} notice a sentence */
export function addNotice(notice) {
  const isShown = [...list.children].some((item) => item.textContent === notice);
  if (isShown || list.children.length > MOST) return;
  list.append(element("li", {}, list.children.length === MOST ? "There are more notices." : notice));
  box.hidden = false;
}
