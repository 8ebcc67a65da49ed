/** Files that are chosen or dropped to replace the text. They are read here and not sent anywhere. */

import { byId } from "./dom.js";

/**
 * Listen for files.
 * @param {(text: string, name: string) => void} opened with the text of a file
 * @param {(message: string) => void} refused says why a file cannot be read
 */
export function listenForFiles(opened, refused) {
  const input = /** @type {HTMLInputElement} */ (byId("file"));
  const paper = byId("paper");

  /** @param {File | undefined} file */
  async function take(file) {
    if (!file) return;
    try {
      const { readFile } = await import("./files.js"); // few visits need it
      opened(await readFile(file), file.name);
    } catch (error) {
      refused(/** @type {Error} */ (error).message);
    }
  }

  byId("open").addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    await take(input.files?.[0]);
    input.value = ""; // so that the same file can be chosen again
  });
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    paper.classList.add("over");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) paper.classList.remove("over"); // left the window
  });
  addEventListener("drop", (event) => {
    paper.classList.remove("over");
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });
}
