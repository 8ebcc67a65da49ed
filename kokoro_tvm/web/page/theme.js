/** Light or dark theme, or the system's. */

import { byId, setIcon } from "./dom.js";

const THEMES = ["auto", "light", "dark"];
const TITLES = { auto: "system", light: "light", dark: "dark" };

/**
 * @param {string | undefined} theme to begin with
 * @param {(theme: string) => void} changed
 */
export function startTheme(theme, changed) {
  const button = byId("theme");
  let now = theme && THEMES.includes(theme) ? theme : "auto";
  const show = () => {
    document.documentElement.dataset.theme = now;
    button.ariaLabel = `Theme: ${TITLES[/** @type {keyof typeof TITLES} */ (now)]}`;
    button.title = button.ariaLabel;
    setIcon(button, now);
  };
  button.addEventListener("click", () => {
    now = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
    show();
    changed(now);
  });
  show();
}
