/** Times as captions write them. */

import { rint } from "../characters.js";

/** `HH:MM:SS.mmm` with another decimal `point`; hours go on beyond 99. @param {number} seconds @param {string} point */
export function clock(seconds, point) {
  const total = rint(seconds * 1000);
  const whole = Math.floor(total / 1000);
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  const time = [whole / 3600, (whole / 60) % 60, whole % 60].map(two).join(":");
  return `${time}${point}${String(total % 1000).padStart(3, "0")}`;
}
