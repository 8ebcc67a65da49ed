/** The text while it is spoken: what was said, the current word, what follows. */

import { element } from "./dom.js";

/** @typedef {import("./record.js").PlacedWord} PlacedWord */

export class Reading {
  #rest = new Text(); // text without words yet
  #reached = 0; // its first character
  #spans = /** @type {(HTMLElement | null)[]} by the word's place in the record */ ([]);
  #gaps = /** @type {(HTMLElement | null)[]} what stands before each word, its marks */ ([]);
  #now = -1;
  #noted = new Map(); // words of notices -> the notice

  /** @param {HTMLElement} box @param {(place: number) => void} chosen with the word that was clicked */
  constructor(box, chosen) {
    this.box = box;
    box.addEventListener("click", ({ target }) => {
      const place = target instanceof HTMLElement && target.dataset.place;
      if (place) chosen(Number(place));
    });
  }

  /** @param {string} text @param {string} tag of its language */
  begin(text, tag) {
    this.#rest = new Text(text);
    this.#reached = 0;
    this.#spans = [];
    this.#gaps = [];
    this.#now = -1;
    this.#noted = new Map();
    this.box.lang = tag;
    this.box.replaceChildren(this.#rest);
    this.box.scrollTop = 0;
  }

  /** Mark the words of a notice in the text that follows. @param {string} notice @param {string[]} words */
  note(notice, words) {
    for (const word of words) if (!this.#noted.has(word)) this.#noted.set(word, notice);
  }

  /** Show that no word follows. */
  finish() {
    if (this.#rest.length) this.#wrap(this.#reached + this.#rest.length, {});
  }

  /** @param {PlacedWord[]} words in order */
  add(words) {
    for (const { source } of words) {
      const gap = source && this.#wrap(source[0], {});
      this.#gaps.push(gap);
      this.#spans.push(source && this.#wrap(source[1], { "data-place": String(this.#spans.length) }));
    }
  }

  /** @param {number} end @param {Record<string, string>} attributes @returns {HTMLElement} around the text up to `end` */
  #wrap(end, attributes) {
    const text = this.#rest;
    this.#rest = text.splitText(end - this.#reached);
    this.#reached = end;
    const span = element("span", attributes);
    text.replaceWith(span);
    span.append(...this.#marked(text));
    return span;
  }

  /** Return a text with its noted words marked. @param {Text} text @returns {Node[]} */
  #marked(text) {
    if (!this.#noted.size) return [text];
    const words = [...this.#noted.keys()].sort((one, other) => other.length - one.length).map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
    const parts = text.data.split(new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})(?![\\p{L}\\p{N}])`, "u"));
    return parts.map((part, place) => (place % 2 ? element("mark", { title: this.#noted.get(part) }, part) : new Text(part)));
  }

  /** Remove the words from `place` on. @param {number} place */
  cut(place) {
    const first = this.#gaps.splice(place).find((gap) => gap);
    this.#spans.splice(place);
    if (!first) return;
    let text = "";
    for (let node = /** @type {ChildNode | null} */ (first); node; ) {
      const next = /** @type {ChildNode | null} */ (node.nextSibling);
      text += node.textContent;
      node.remove();
      node = next;
    }
    this.#reached -= text.length - this.#rest.length;
    this.#rest = new Text(text);
    this.box.append(this.#rest);
    this.#now = Math.min(this.#now, place - 1);
  }

  /** @param {boolean} ended whether all has been said, with the marks behind the last word */
  end(ended) {
    this.box.classList.toggle("said", ended);
  }

  /** @param {number} place of the word that is said; -1 for none yet @param {boolean} lit whether it is said now */
  show(place, lit) {
    const [from, to] = [Math.min(place, this.#now), Math.max(place, this.#now)];
    for (let other = Math.max(0, from); other <= to; other++) {
      for (const span of [this.#gaps[other], this.#spans[other]]) span?.classList.toggle("said", other <= place);
    }
    if (place !== this.#now) this.#spans[this.#now]?.classList.remove("now");
    this.#now = place;
    const span = this.#spans[place];
    if (!span || span.classList.contains("now") === lit) return;
    span.classList.toggle("now", lit);
    if (lit) requestAnimationFrame(() => this.#bringIntoView(span)); // once its place is known
  }

  /** @param {HTMLElement} span */
  #bringIntoView(span) {
    const [inner, outer] = [span.getBoundingClientRect(), this.box.getBoundingClientRect()];
    if (inner.top >= outer.top && inner.bottom <= outer.bottom) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const top = this.box.scrollTop + inner.top - outer.top - outer.height / 3;
    this.box.scrollTo({ top, behavior: calm ? "auto" : "smooth" });
  }
}
