/** History of requests in the page and in the browser's storage. */

import { byId, element } from "./dom.js";
import { readHistory, withEntry, writeHistory } from "./storage.js";
import { readMix, titleOf } from "./voices.js";

/** @typedef {import("./speaker.js").Request} Request */

export class Past {
  #entries = /** @type {Request[]} */ ([]);
  #names = /** @type {string[]} */ ([]);
  #store;
  #chosen;

  /** @param {import("./storage.js").Store} store @param {(request: Request) => void} chosen */
  constructor(store, chosen) {
    this.#store = store;
    this.#chosen = chosen;
    byId("forget").addEventListener("click", () => {
      this.#keep([]);
      byId("text").focus();
    });
  }

  /** @param {string[]} names all voices */
  open(names) {
    this.#names = names;
    this.#entries = readHistory(this.#store);
    this.#show();
  }

  /** @param {Request} request */
  add(request) {
    this.#keep(withEntry(this.#entries, request));
  }

  /** @param {Request[]} entries */
  #keep(entries) {
    this.#entries = entries;
    writeHistory(this.#store, entries);
    this.#show();
  }

  #show() {
    byId("past").hidden = this.#entries.length === 0;
    byId("history").replaceChildren(...this.#entries.map((entry) => element("li", {}, this.#button(entry))));
  }

  /** @param {Request} entry */
  #button(entry) {
    const parts = readMix(entry.voice, this.#names);
    const voice = parts ? titleOf(parts) : entry.voice;
    const detail = entry.speed === 1 ? voice : `${voice}, ${entry.speed.toFixed(2)}×`;
    const text = element("span", { class: "text" }, entry.text.trim().slice(0, 200));
    const button = element("button", { type: "button" }, text, element("span", { class: "soft" }, detail));
    button.addEventListener("click", () => this.#chosen(entry));
    return button;
  }
}
