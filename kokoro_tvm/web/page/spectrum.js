/** Level of a speech at each time and frequency: short-time Fourier transforms, in decibels. */

export const ROWS = 256; // frequencies, from half the sampling rate down to 0
export const SLICE = 16; // columns between two pauses: 1 to 2 ms on a laptop

const SIZE = 1024; // samples of a window, 43 ms
const [QUIETEST, LOUDEST] = [-95, -25]; // dB of full scale that are shown as 0 and as 255

const WINDOW = Float64Array.from({ length: SIZE }, (_, place) => (1 - Math.cos((2 * Math.PI * place) / SIZE)) / SIZE);
const COS = Float64Array.from({ length: SIZE / 2 }, (_, place) => Math.cos((2 * Math.PI * place) / SIZE));
const SIN = Float64Array.from({ length: SIZE / 2 }, (_, place) => Math.sin((2 * Math.PI * place) / SIZE));
const REVERSED = Uint16Array.from({ length: SIZE }, (_, place) => {
  let result = 0;
  for (let bit = 1; bit < SIZE; bit <<= 1) result = (result << 1) | Number(Boolean(place & bit));
  return result;
});

/**
 * Compute levels column by column, each for the window in the middle of its time span.
 * @param {{length: number, read(start: number, count: number): Float32Array}} speech
 * @param {number} columns
 * @param {() => Promise<boolean>} pause after SLICE columns; false ends it
 * @returns {Promise<Uint8ClampedArray | null>} (ROWS, columns), the highest frequency first; null where it was ended
 */
export async function levels(speech, columns, pause) {
  const result = new Uint8ClampedArray(ROWS * columns);
  const real = new Float64Array(SIZE);
  const imaginary = new Float64Array(SIZE);
  for (let column = 0; column < columns; column++) {
    if (column && column % SLICE === 0 && !(await pause())) return null;
    const start = Math.round(((column + 0.5) / columns) * speech.length - SIZE / 2);
    const samples = speech.read(Math.max(0, start), SIZE + Math.min(0, start));
    const lead = Math.max(0, -start);
    real.fill(0);
    imaginary.fill(0);
    for (let place = 0; place < samples.length; place++) {
      real[REVERSED[place + lead]] = samples[place] * WINDOW[place + lead];
    }
    transform(real, imaginary);
    for (let row = 0; row < ROWS; row++) {
      const bin = 2 * (ROWS - 1 - row);
      const power = Math.max(energy(bin), energy(bin + 1));
      const decibels = 10 * Math.log10(power + 1e-12);
      result[row * columns + column] = (255 * (decibels - QUIETEST)) / (LOUDEST - QUIETEST);
    }
  }
  return result;

  function energy(/** @type {number} */ bin) {
    return real[bin] ** 2 + imaginary[bin] ** 2;
  }
}

/**
 * Compute the discrete Fourier transform of values in bit-reversed order, in place (Cooley and Tukey, radix 2).
 * @param {Float64Array} real
 * @param {Float64Array} imaginary
 */
function transform(real, imaginary) {
  for (let half = 1; half < SIZE; half *= 2) {
    const step = SIZE / (2 * half);
    for (let first = 0; first < SIZE; first += 2 * half) {
      for (let place = 0; place < half; place++) {
        const [low, high] = [first + place, first + place + half];
        const [cos, sin] = [COS[place * step], SIN[place * step]];
        const [a, b] = [real[high] * cos + imaginary[high] * sin, imaginary[high] * cos - real[high] * sin];
        [real[high], imaginary[high]] = [real[low] - a, imaginary[low] - b];
        real[low] += a;
        imaginary[low] += b;
      }
    }
  }
}
