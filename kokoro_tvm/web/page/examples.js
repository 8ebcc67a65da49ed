/** Example texts, which are offered while there is no text. */

import { byId } from "./dom.js";

const ENGLISH = "ab";
/** Texts by the names of their buttons. @type {Map<string, string>} */
const TEXTS = new Map([
  ["story", "The sun had just risen over the harbor when the first boats came home. “Nobody speaks while the nets are pulled in,” said the old man."],
  ["numbers", "On March 3rd, 2024, Dr. Smith paid $1,250.50 for 3.5 kg of saffron, at 7:45 p.m. in St. Ives."],
  ["markup", "Wait for it. [pause:1s] I said [never](+2), not later. [rate:0.8] It is called [Kokoro](/kˈOkəɹO/). [rate:]"],
]);

/** @param {(text: string) => void} chosen with the text */
export function listenForExamples(chosen) {
  byId("examples").addEventListener("click", ({ target }) => {
    const text = target instanceof HTMLElement && TEXTS.get(target.dataset.example ?? "");
    if (text) chosen(text);
  });
}

/** Show the examples if there is no text and an English voice. @param {string} text @param {string} code of the language */
export function showExamples(text, code) {
  byId("examples").hidden = Boolean(text) || !ENGLISH.includes(code);
}
