/** Limits of texts and plans. */

/** Seconds; a typing mistake must not exhaust the memory. */
export const LONGEST_PAUSE = 3600;
/** Smallest and largest factor of pitch and of a word's speed. @type {[number, number]} */
export const FACTORS = [0.1, 10];
/** Smallest and largest speed of the model. Beyond them, sounds are lost or drawn out. @type {[number, number]} */
export const SPEEDS = [0.25, 4];

/**
 * Return the speed of a word at its rate. A rate exceeds SPEEDS no further than `speed` does.
 * @param {number} speed
 * @param {number} rate
 * @returns {number}
 */
export function boundSpeed(speed, rate) {
  const [low, high] = SPEEDS;
  return Math.min(Math.max(speed * rate, Math.min(speed, low)), Math.max(speed, high));
}
