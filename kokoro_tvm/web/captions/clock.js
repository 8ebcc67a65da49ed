/** Times of captions. */

import { rint } from "../characters.js";

/**
 * Format `HH:MM:SS.mmm` with a decimal `point`; hours continue beyond 99.
 * @param {number} seconds
 * @param {string} point
 */
export function clock(seconds, point) {
  const total = rint(seconds * 1000);
  const whole = Math.floor(total / 1000);
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  const time = [whole / 3600, (whole / 60) % 60, whole % 60].map(two).join(":");
  return `${time}${point}${String(total % 1000).padStart(3, "0")}`;
}
