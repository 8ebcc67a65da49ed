/** Picker of a voice or a mix, with samples, by language. */

import { byId, element, icon, setIcon } from "./dom.js";
import { gradeOf } from "./grades.js";
import { byLanguage, describe, finds, KOKORO, languageOf, languagesOf, MOST_WEIGHT, readMix, titleOf, USUAL_WEIGHT, writeMix } from "./voices.js";

const MOST_PARTS = 5; // per mix

/**
 * @typedef {object} Listener
 * @property {() => void} chosen another voice, mix or language than before
 * @property {(name: string) => void} sample asks for a voice to be heard, or to be silent if it is
 */

export class VoicePicker {
  #names = /** @type {string[]} */ ([]);
  #parts = /** @type {import("./voices.js").Part[]} */ ([]);
  #listener;
  #codes = /** @type {string[]} of the languages that the voices leave open; the first is read where none is chosen */ ([]);

  /** The languages of the synthesizer. */
  languages = KOKORO;

  /** Letters of the readable languages. @type {string[] | undefined} all where it is left out */
  readable;

  /** @param {Listener} listener */
  constructor(listener) {
    this.#listener = listener;
    this.list = byId("voices");
    this.mix = byId("mix");
    this.select = /** @type {HTMLSelectElement} */ (byId("language"));
    this.select.addEventListener("change", () => {
      this.#showLanguage();
      listener.chosen();
    });
    const find = /** @type {HTMLInputElement} */ (byId("find"));
    find.addEventListener("input", () => this.#find(find.value));
    this.list.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLInputElement) this.#choose([{ name: target.value, weight: USUAL_WEIGHT }]);
    });
    this.list.addEventListener("click", ({ target }) => {
      const button = target instanceof Element && target.closest("button");
      if (!button) return;
      if (button.dataset.sample) listener.sample(button.dataset.sample);
      else if (button.dataset.add) this.#toggle(button.dataset.add);
    });
  }

  /** Return the chosen voice or mix, as the synthesizer reads it. */
  get value() {
    return writeMix(this.#parts);
  }

  /** Return the letter of the chosen language if the voice leaves it open. @returns {string | undefined} */
  get lang() {
    return this.#codes.length && this.select.value !== this.#codes[0] ? this.select.value : undefined;
  }

  /** Return the letter of the language that is spoken. */
  get code() {
    return this.lang ?? this.#codes[0] ?? describe(this.#parts[0]?.name ?? "", this.languages).code;
  }

  /** Return the language that is spoken. */
  get language() {
    return languageOf(this.code, this.languages);
  }

  /** Return what people call the voice, or the mix. */
  get title() {
    return this.#parts.length > 1 ? "This mix" : titleOf(this.#parts, this.languages);
  }

  /** Return the best voice of a language that can be read, or "". @param {string} code @returns {string} */
  best(code) {
    if (this.readable && !this.readable.includes(code)) return "";
    return new Map(byLanguage(this.#names, this.languages)).get(code)?.[0].name ?? "";
  }

  /** @param {string[]} names */
  fill(names) {
    this.#names = names;
    const groups = byLanguage(names, this.languages).map(([code, voices]) => {
      const grid = element("div", { class: "grid" }, ...voices.map((voice) => this.#row(voice)));
      return element("fieldset", {}, element("legend", {}, languageOf(code, this.languages).name), grid);
    });
    this.list.replaceChildren(...groups);
  }

  /** @param {string} mix @param {string} [lang] the letter of a language
   * @returns {boolean} whether it is one of these voices, or a mix of them */
  choose(mix, lang) {
    const parts = readMix(mix, this.#names);
    if (parts) this.#show(parts, lang);
    return parts !== null;
  }

  /** Show the voices that match the search. @param {string} query */
  #find(query) {
    let count = 0;
    for (const group of this.list.querySelectorAll("fieldset")) {
      const rows = /** @type {HTMLElement[]} */ ([...group.querySelectorAll(".voice")]);
      for (const row of rows) row.hidden = !finds(query, row.dataset.name ?? "", this.languages);
      const result = rows.filter((row) => !row.hidden).length;
      group.hidden = result === 0;
      count += result;
    }
    byId("found").textContent = count ? "" : `No voice matches "${query}".`;
  }

  /** @param {string | null} name of the voice whose sample is heard */
  sampling(name) {
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (this.list.querySelectorAll("[data-sample]"))) {
      const on = button.dataset.sample === name;
      button.classList.toggle("on", on);
      button.setAttribute("aria-pressed", String(on));
      setIcon(button, on ? "stop" : "play");
    }
  }

  /** @param {import("./voices.js").Voice} voice */
  #row({ name, title, gender }) {
    const id = `voice-${name}`;
    const label = element("label", { for: id }, title);
    const detail = [gender, gradeOf(name)].filter(Boolean).join(", ");
    if (detail) label.append(" ", element("span", { class: "soft" }, detail));
    const sample = { class: "icon", type: "button", "data-sample": name, "aria-label": `Hear ${title}`, "aria-pressed": "false" };
    const add = { class: "icon", type: "button", "data-add": name, "aria-label": `Mix ${title} in`, "aria-pressed": "false" };
    return element(
      "div",
      { class: "voice", "data-name": name },
      element("input", { type: "radio", name: "voice", id, value: name }),
      label,
      element("button", sample, icon("play")),
      element("button", add, icon("plus")),
    );
  }

  /** @param {string} name */
  #toggle(name) {
    const others = this.#parts.filter((part) => part.name !== name);
    if (others.length === this.#parts.length) others.push({ name, weight: USUAL_WEIGHT });
    if (others.length && others.length <= MOST_PARTS) this.#choose(others);
  }

  /** @param {import("./voices.js").Part[]} parts */
  #choose(parts) {
    this.#show(parts);
    this.#listener.chosen();
  }

  /** @param {import("./voices.js").Part[]} parts @param {string} [lang] the language that stays, where it may */
  #show(parts, lang = this.lang) {
    this.#parts = parts;
    this.#codes = languagesOf(parts, this.languages, this.readable);
    byId("tongue").hidden = !this.#codes.length;
    this.select.replaceChildren(...this.#codes.map((code) => element("option", { value: code }, languageOf(code, this.languages).name)));
    if (lang && this.#codes.includes(lang)) this.select.value = lang;
    byId("voice-title").textContent = titleOf(parts, this.languages);
    this.#showLanguage();
    for (const radio of this.list.querySelectorAll("input")) {
      radio.checked = parts.length === 1 && parts[0].name === radio.value;
    }
    const full = parts.length === MOST_PARTS;
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (this.list.querySelectorAll("[data-add]"))) {
      const on = parts.some((part) => part.name === button.dataset.add);
      button.parentElement?.classList.toggle("chosen", on);
      button.classList.toggle("on", on);
      button.setAttribute("aria-pressed", String(on));
      button.disabled = on ? parts.length === 1 : full;
      setIcon(button, on && parts.length > 1 ? "minus" : "plus");
    }
    this.mix.hidden = parts.length === 1;
    this.mix.replaceChildren(...(parts.length > 1 ? parts.map((part) => this.#weight(part)) : []));
    this.#shares();
  }

  #showLanguage() {
    const gender = this.#parts.length === 1 ? describe(this.#parts[0].name, this.languages).gender : "";
    byId("voice-detail").textContent = [this.language.name, gender].filter(Boolean).join(", ");
  }

  /** @param {import("./voices.js").Part} part */
  #weight(part) {
    const { title } = describe(part.name, this.languages);
    const label = { type: "range", min: "1", max: String(MOST_WEIGHT), step: "1", value: String(part.weight), "aria-label": `Weight of ${title}` };
    const range = element("input", label);
    range.addEventListener("input", () => {
      part.weight = Number(range.value);
      byId("voice-title").textContent = titleOf(this.#parts, this.languages);
      this.#shares();
    });
    range.addEventListener("change", () => this.#listener.chosen());
    const remove = element("button", { class: "icon", type: "button", "aria-label": `Take ${title} out` }, icon("cross"));
    remove.addEventListener("click", () => {
      this.#toggle(part.name);
      byId("voice-panel").querySelector("summary")?.focus();
    });
    return element("li", {}, element("span", { class: "who" }, title), range, element("output", {}), remove);
  }

  #shares() {
    const sum = this.#parts.reduce((total, { weight }) => total + weight, 0);
    this.mix.querySelectorAll("output").forEach((output, place) => {
      output.textContent = `${Math.round((100 * this.#parts[place].weight) / sum)} %`;
    });
  }
}
