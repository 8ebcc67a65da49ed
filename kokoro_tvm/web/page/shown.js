/** Words of a text as captions show them. @typedef {import("../captions/lines.js").CueWord} CueWord */

const MARK = /^[^\p{L}\p{N}]+$/u;

/**
 * Attach marks to the words that they touch, by their places in the text.
 * @param {string} text
 * @param {{start: number, end: number, source: [number, number]}[]} words in order, apart from each other
 * @returns {CueWord[]}
 */
export function wordsWithMarks(text, words) {
  /** @type {CueWord[]} */
  const result = [];
  let opening = text.slice(0, words[0]?.source[0] ?? 0).match(/(?<!\S)\S*$/)?.[0] ?? "";
  let joined = false;
  words.forEach(({ start, end, source }, place) => {
    const last = place + 1 === words.length;
    const gap = text.slice(source[1], last ? text.length : words[place + 1].source[0]);
    const [closing, ...marks] = gap.split(/\s+/);
    const next = last ? "" : (marks.pop() ?? ""); // it touches the next word
    const shown = opening + text.slice(...source).replace(/\s+/g, " ") + closing;
    result.push({ text: [shown, ...marks.filter((mark) => MARK.test(mark))].join(" "), start, end, joined });
    opening = next;
    joined = !/\s/.test(gap);
  });
  return result;
}
