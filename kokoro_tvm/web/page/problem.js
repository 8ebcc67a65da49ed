/** Messages about problems, above everything that still works. */

import { byId, element } from "./dom.js";
import { explain } from "./messages.js";

/** Remove the message. */
export function clearProblem() {
  const box = byId("problem");
  box.hidden = true;
  box.replaceChildren();
}

/**
 * @param {import("../synthesizer.js").SpeechError} error
 * @param {(() => void) | null} again what to do once more
 * @param {((key: string) => void) | null} authorize takes a key
 */
export function showProblem(error, again, authorize) {
  const { what, advice } = explain(error);
  const box = byId("problem");
  box.replaceChildren(element("span", { class: "what" }, what), " ", advice, " ");
  if (error.kind === "unauthorized" && authorize && again) box.append(keyForm(authorize, again));
  else if (again && !["refused", "too_long"].includes(error.kind)) {
    const button = element("button", { class: "link", type: "button" }, "Try again");
    button.addEventListener("click", () => {
      clearProblem();
      again();
    });
    box.append(button);
  }
  show(box);
}

/** @param {string} message */
export function showNotice(message) {
  const box = byId("problem");
  box.replaceChildren(message);
  show(box);
}

/** Show the box wherever the page is scrolled to. @param {HTMLElement} box */
function show(box) {
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
}

/** @param {(key: string) => void} authorize @param {() => void} again */
function keyForm(authorize, again) {
  const input = element("input", { type: "password", "aria-label": "Key of the server", autocomplete: "off", required: "" });
  const form = element("form", {}, input, element("button", { class: "link" }, "Use the key"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    authorize(input.value);
    clearProblem();
    again();
  });
  return form;
}
