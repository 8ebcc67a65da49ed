/** Random draws that are the same every time. Source: mulberry32, public domain. */
export function draws(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit) => Math.floor(next() * limit);
  const pick = (items) => items[below(items.length)];
  /** `whole`, a string or a typed array, in pieces of 0 to `longest`. */
  const pieces = (whole, longest) => {
    const result = [];
    for (let at = 0; at < whole.length; ) {
      const size = below(longest + 1);
      result.push(whole.slice(at, at + size));
      at += size;
    }
    return result;
  };
  return { next, below, pick, pieces };
}
