/** The page's data in this browser: settings, and a bounded history. Nothing of it is sent. */

/** @typedef {import("./speaker.js").Request} Request */

const HISTORY = "kokoro-tvm.history";
const SETTINGS = "kokoro-tvm.settings";
export const MOST_ENTRIES = 30;
export const MOST_CHARACTERS = 200_000; // of all texts together

/** @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem">} Store */

/**
 * Return the browser's storage, or one that lasts as long as the page.
 * @returns {Store} the browser's, or one that lasts as long as the page where the browser keeps nothing
 */
export function browserStore() {
  try {
    return globalThis.localStorage;
  } catch {
    const kept = new Map();
    return {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => kept.set(key, value),
      removeItem: (key) => kept.delete(key),
    };
  }
}

/**
 * Return the history with a new first entry, without duplicates, within the limits.
 * @param {Request[]} entries
 * @param {Request} newest
 * @returns {Request[]}
 */
export function withEntry(entries, newest) {
  const others = entries.filter((entry) => JSON.stringify(entry) !== JSON.stringify(newest));
  let characters = 0;
  return [newest, ...others].slice(0, MOST_ENTRIES).filter(({ text }) => {
    characters += text.length;
    return characters <= MOST_CHARACTERS;
  });
}

/** @param {Store} store @returns {Request[]} */
export function readHistory(store) {
  const result = read(store, HISTORY);
  return Array.isArray(result) ? result.filter(isRequest).map(({ text, voice, speed, lang, plain, prose }) => ({ text, voice, speed, ...(lang ? { lang } : {}), ...(plain === true ? { plain } : {}), ...(prose === true ? { prose } : {}) })) : [];
}

/**
 * Store as many of the newest entries as fit.
 * @param {Store} store
 * @param {Request[]} entries
 */
export function writeHistory(store, entries) {
  store.removeItem(HISTORY);
  for (let kept = entries; kept.length; kept = kept.slice(0, Math.floor(kept.length / 2))) {
    if (write(store, HISTORY, kept)) return;
  }
}

/** @param {Store} store @returns {{voice?: string, speed?: number, lang?: string, plain?: boolean, prose?: boolean, format?: string, theme?: string, volume?: number}} */
export function readSettings(store) {
  const result = read(store, SETTINGS);
  return result && typeof result === "object" && !Array.isArray(result) ? result : {};
}

/** @param {Store} store @param {{voice?: string, speed?: number, lang?: string, plain?: boolean, prose?: boolean, format?: string, theme?: string, volume?: number}} settings */
export function writeSettings(store, settings) {
  write(store, SETTINGS, settings);
}

/** @param {Store} store @param {string} key @param {unknown} value @returns {boolean} whether there was room for it */
function write(store, key, value) {
  try {
    store.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false; // it is missing at the next visit, and nowhere else
  }
}

/** @param {Store} store @param {string} key @returns {any} null where there is nothing that can be read */
function read(store, key) {
  try {
    return JSON.parse(store.getItem(key) ?? "null");
  } catch {
    return null; // written by another program: ignore it
  }
}

/** @param {any} entry @returns {entry is Request} */
function isRequest(entry) {
  return Boolean(entry) && typeof entry.text === "string" && typeof entry.voice === "string" && typeof entry.speed === "number" && ["undefined", "string"].includes(typeof entry.lang);
}
