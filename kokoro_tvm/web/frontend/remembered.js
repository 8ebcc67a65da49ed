/** Results of a function for the arguments it was called with last. */

const MOST = 2048;

/** A function that remembers its results of the 2048 texts it was asked for last.
 * @template T @param {(text: string) => T} compute @returns {(text: string) => T} */
export function remembered(compute) {
  const known = new Map();
  return (text) => {
    let found = known.get(text);
    if (found === undefined) {
      found = compute(text);
      if (known.size === MOST) known.delete(known.keys().next().value);
    } else {
      known.delete(text); // to put it behind the others
    }
    known.set(text, found);
    return found;
  };
}
