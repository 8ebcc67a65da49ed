/** A voice for a text in another language than that of the chosen voice. */

import { byId } from "./dom.js";
import { otherLanguage } from "./language.js";
import { languageOf } from "./voices.js";

const DELAY = 400; // milliseconds after the last key

export class Suggestion {
  #picker;
  #voice = "";
  #timer = 0;

  /**
   * @param {import("./voice_picker.js").VoicePicker} picker
   * @param {(voice: string) => void} accepted with the voice
   */
  constructor(picker, accepted) {
    this.#picker = picker;
    byId("suggested").addEventListener("click", () => accepted(this.#voice));
  }

  /** Look at a text once nobody has typed for a moment. @param {string} text */
  lookSoon(text) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.look(text), DELAY);
  }

  /** Show or hide the suggestion for a text. @param {string} text */
  look(text) {
    clearTimeout(this.#timer);
    const { code, languages, title } = this.#picker;
    const other = otherLanguage(text, code, languages);
    this.#voice = other && this.#picker.best(other);
    byId("suggestion").hidden = !this.#voice;
    if (!this.#voice) return;
    const { name } = languageOf(other, languages);
    byId("reason").textContent = `${title} reads ${languageOf(code, languages).name}. This text looks like ${name}.`;
    byId("suggested").textContent = `Use ${/^[AEIOU]/.test(name) ? "an" : "a"} ${name} voice`;
  }
}
