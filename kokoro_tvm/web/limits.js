/** Limits on what a text or a plan asks for. */

/** Seconds; keeps a slip of the finger from asking for all memory. */
export const LONGEST_PAUSE = 3600;
/** The least and the greatest factor on the pitch and on the speed of a word; beyond them it is no voice's.
 * @type {[number, number]} */
export const FACTORS = [0.1, 10];
/** The least and the greatest speed that the model can say; beyond them sounds are lost or drawn out.
 * @type {[number, number]} */
export const SPEEDS = [0.25, 4];

/** The speed of a word at its rate, which a rate takes beyond SPEEDS no further than `speed` is.
 * @param {number} speed @param {number} rate @returns {number} */
export function boundSpeed(speed, rate) {
  const [low, high] = SPEEDS;
  return Math.min(Math.max(speed * rate, Math.min(speed, low)), Math.max(speed, high));
}
