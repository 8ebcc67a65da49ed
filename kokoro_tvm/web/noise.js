/**
 * The noise of an utterance: a standard normal number a sample, of a seed, a piece and the sample's place.
 *
 * Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011) gives four random words for a key, the
 * seed, and a counter, the place; Box and Muller's transform makes two normal numbers of two words. Everything is 32-bit
 * integers up to the last step, which is exact, so the bits are those of `kokoro_tvm/kernels/noise.py`, which says more.
 */

const MULTIPLIERS = [0xd2511f53, 0xcd9e8d57];
const STEPS = [0x9e3779b9, 0xbb67ae85]; // of the key, from round to round
const ROUNDS = 10;

const fixed = (value, bits) => Math.round(value * 2 ** bits) >>> 0;
// Near-minimax polynomials, lowest power first, signs alternating.
const LOGARITHM = [
  0.99999998, 0.44269159, 0.27855241, 0.2011144, 0.15185925, 0.10771082, 0.0616135, 0.02331843, 0.00415763,
].map((value) => fixed(value, 32));
const SINE = [1.57079632, 0.645963761, 0.0796899269, 0.0046741575, 0.000151678532].map((value) => fixed(value, 31));
const ROOT = [2.13276957, 1.2187226].map((value) => fixed(value, 30));
const LENGTH = fixed(Math.sqrt(2 * Math.log(2)), 31);

/** The upper half of the 64 bits of a product of two words. @param {number} a @param {number} b */
function high(a, b) {
  const [la, ha, lb, hb] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const middle = ha * lb + ((la * lb) >>> 16);
  return (ha * hb + Math.floor(middle / 0x10000) + (((middle & 0xffff) + la * hb) / 0x10000)) >>> 0;
}

/** Four random words of a counter of four and a key of two. */
function philox([a, b, c, d], [left, right]) {
  for (let round = 0; round < ROUNDS; round++) {
    if (round) [left, right] = [(left + STEPS[0]) >>> 0, (right + STEPS[1]) >>> 0];
    [a, b, c, d] = [
      (high(MULTIPLIERS[1], c) ^ b ^ left) >>> 0,
      Math.imul(MULTIPLIERS[1], c) >>> 0,
      (high(MULTIPLIERS[0], a) ^ d ^ right) >>> 0,
      Math.imul(MULTIPLIERS[0], a) >>> 0,
    ];
  }
  return [a, b, c, d];
}

/** One normal number: the sine of `turn` / 2**32 turns times sqrt(-2 ln u), u = `radius` / 2**32. */
function deviate(radius, turn) {
  const [length, halvings] = radiusOf(radius);
  const magnitude = high(length, sine(turn)); // halved, 2**30 for 1, without the halvings
  const rounded = (magnitude + 2 ** (halvings - 1)) >>> halvings;
  return (rounded / 2 ** 21) * (turn < 2 ** 31 ? 1 : -1);
}

/** sqrt(-2 ln u) as (root, shift): root * 2**-(22 + shift), which with a sine of 2**31 gives 2**21 for 1. */
function radiusOf(word) {
  const zeros = Math.min(Math.clz32(word), 31);
  const t = (word << zeros << 1) >>> 0;
  const below = high(~t >>> 0, alternating(t, LOGARITHM)); // of -log2 u, behind the point
  // -log2 u with 32 bits behind the point where it is below 1, so that small radii are exact, else with 26.
  const logarithm = zeros < 1 ? below : ((zeros << 26) + (below >>> 6)) >>> 0;
  const twice = Math.min(Math.clz32(logarithm) & ~1, 30);
  const w = (logarithm << twice) >>> 0;
  let y = (ROOT[0] - high(w, ROOT[1])) >>> 0;
  for (let step = 0; step < 3; step++) {
    // Newton's iteration for 1 / sqrt(w).
    const error = ((3 << 28) - high(w, high(y, y))) >>> 0;
    y = (high(y, (error << 2) >>> 0) << 1) >>> 0;
  }
  const root = (high(w, y) << 1) >>> 0;
  return [high(root, LENGTH), (zeros < 1 ? 8 : 5) + (twice >> 1)];
}

/** |sin| of a turn, 2**31 for 1, in the middle of the turn's step. */
function sine(turn) {
  const half = ((turn << 1) | 1) >>> 0;
  const quarter = half < 2 ** 31 ? half : (~half + 1) >>> 0;
  const y = (quarter << 1) >>> 0;
  return high(y, alternating(high(y, y), SINE));
}

/** c0 - x (c1 - x (c2 - ...)) for x / 2**32 in [0, 1); no difference is negative. */
function alternating(x, coefficients) {
  let value = coefficients[coefficients.length - 1];
  for (let place = coefficients.length - 2; place >= 0; place--) value = (coefficients[place] - high(x, value)) >>> 0;
  return value;
}

/** The noise of a piece, float32 (samples); the seed is below 2**64, the piece below 2**32. A shorter noise begins a
 * longer one. @param {bigint} seed @param {number} samples @param {number} [piece] */
export function drawNoise(seed, samples, piece = 0) {
  const key = [Number(seed & 0xffffffffn), Number(seed >> 32n)];
  const noise = new Float32Array(Math.ceil(samples / 4) * 4);
  for (let place = 0; place < noise.length / 4; place++) {
    const random = philox([place, piece, 0, 0], key);
    for (let j = 0; j < 4; j++) {
      const [radius, turn] = [random[j & 2], random[(j & 2) + 1]];
      noise[4 * place + j] = deviate(radius, j % 2 ? turn : (turn + 2 ** 30) >>> 0);
    }
  }
  return noise.subarray(0, samples);
}
