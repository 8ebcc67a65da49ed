/** Voices from a file that is chosen. It is read here and not sent anywhere. */

import { byId } from "./dom.js";

/**
 * Listen for files of voices.
 * @param {import("../synthesizer.js").Synthesizer} synthesizer
 * @param {(name: string) => void} added with the first voice of a file
 * @param {(message: string) => void} refused says why a file is no voice
 */
export function listenForVoices(synthesizer, added, refused) {
  const button = byId("own");
  const input = /** @type {HTMLInputElement} */ (byId("own-file"));
  button.hidden = !synthesizer.addVoices; // a server has a folder of voices
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    const file = input.files?.[0];
    if (!file) return;
    try {
      added((await synthesizer.addVoices?.(file))?.[0] ?? "");
    } catch (error) {
      refused(/** @type {Error} */ (error).message);
    }
    input.value = ""; // so that the same file can be chosen again
  });
}
