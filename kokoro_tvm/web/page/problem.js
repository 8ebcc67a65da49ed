/** Messages about problems, above everything that still works. */

import { byId, element } from "./dom.js";
import { explain } from "./messages.js";

/** @type {ReturnType<typeof setInterval> | undefined} */
let countdown;

/** Remove the message. */
export function clearProblem() {
  clearInterval(countdown);
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
  clearProblem();
  const { what, advice, wait } = explain(error);
  const box = byId("problem");
  box.replaceChildren(element("span", { class: "what" }, what), " ", advice, " ");
  if (again && wait !== undefined) box.append(...waiting(wait, again));
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

/**
 * Return the words of a countdown, which then does something again. A screen reader hears them once.
 * @param {number} seconds
 * @param {() => void} again
 */
function waiting(seconds, again) {
  const left = element("span", { role: "timer" }, String(seconds));
  countdown = setInterval(() => {
    seconds -= 1;
    left.textContent = String(seconds);
    if (seconds > 0) return;
    clearProblem();
    again();
  }, 1000);
  return ["Trying again in ", left, " s. "];
}

/** @param {string} message */
export function showNotice(message) {
  clearProblem();
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
