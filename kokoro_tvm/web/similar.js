/** Similarity of words: Ratcliff and Obershelp's ratio (1988), as in Python's difflib. */

const NEAR = 0.6;

/**
 * Return at most `most` similar words, the nearest first.
 * @param {string} word
 * @param {string[]} words
 * @param {number} most
 * @returns {string[]}
 */
export function nearest(word, words, most) {
  const result = words.map((other) => ({ other, ratio: ratio(other, word) })).filter((item) => item.ratio >= NEAR);
  result.sort((a, b) => b.ratio - a.ratio || (a.other < b.other ? 1 : -1));
  return result.slice(0, most).map((item) => item.other);
}

const ratio = (a, b) => (a.length + b.length ? (2 * matching(a, b)) / (a.length + b.length) : 1);

/** Count the characters of the longest common stretch, and recursively on both sides of it. */
function matching(a, b) {
  let [length, inA, inB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length; j++) {
      let count = 0;
      while (i + count < a.length && j + count < b.length && a[i + count] === b[j + count]) count++;
      if (count > length) [length, inA, inB] = [count, i, j];
    }
  }
  if (!length) return 0;
  const before = matching(a.slice(0, inA), b.slice(0, inB));
  return before + length + matching(a.slice(inA + length), b.slice(inB + length));
}
