/** The files of a bundle in pieces named by their sha256: fetched side by side, unpacked, compared, and kept.
 *
 * kokoro_tvm/project/pieces.py writes them. What is kept is the content, so that a later visit unpacks nothing.
 */

import { BundleError, ConnectionError, UnsupportedError } from '../errors.js';

const LIST = 'pieces.json'; // in the bundle's folder
const FOLDER = '../pieces/'; // from there
const SCHEMA = 1; // of the list that this version reads
const CACHE = 'kokoro-tvm-pieces'; // of the browser; one for all bundles of an origin
const SIDE_BY_SIDE = 6;
const ATTEMPTS = 5; // at each piece while there is a connection
const PAUSE = 500; // milliseconds before the second attempt, twice as long before every further one
const SILENCE = 30_000; // milliseconds without a byte after which an attempt has failed
const STEP = 1 << 20; // bytes after which progress is reported again

/**
 * How far loading has come. `loaded` of `total` bytes are there, as they are sent; of these, `kept` were there from an earlier visit.
 * `offline`: it waits for a connection. `full`: the browser has no room to keep what is loaded.
 * @typedef {{loaded: number, total: number, kept: number, offline: boolean, full: boolean}} Progress
 */

/**
 * Bytes of a file: their sha256 and number; `packed`: how many are sent, with the bytes of every `width` apart.
 * @typedef {{file: string, sha256: string, size: number, width: number, packed: number}} Piece
 */

/** A bundle's files; all of their pieces are fetched as soon as it is open. */
export class Pieces {
  /**
   * Reads the list of a bundle's folder.
   * @param {URL} base the bundle's folder, an address that ends in a slash; the pieces are in `../pieces/`
   * @param {(progress: Progress) => void} [onprogress] called as it changes
   * @returns {Promise<Pieces | null>} null where the folder has no list; rejected with an UnsupportedError,
   *   ConnectionError or BundleError
   */
  static async open(base, onprogress = () => {}) {
    if (!globalThis.crypto?.subtle) {
      throw new UnsupportedError('The address is not secure, so the browser compares no digests. Use https.');
    }
    const response = await answer(new URL(LIST, base), {});
    if (response.status === 404) return null;
    const list = await (await refuse(response, LIST)).json();
    if (list.schema !== SCHEMA) {
      throw new BundleError(`pieces.json has schema ${list.schema}; this version reads ${SCHEMA}. Reload the page.`);
    }
    return new Pieces(new URL(FOLDER, base), list.files, await store(), onprogress);
  }

  #folder;
  #store;
  #onprogress;
  /** @type {Map<string, {sha256: string, pieces: Piece[]}>} */
  #files = new Map();
  /** Those not read yet: sha256 -> promise of the bytes, or of null where the store has them. */
  #downloads = new Map();
  #named = new Set();
  #progress = { loaded: 0, total: 0, kept: 0, offline: false, full: false };
  #reported = 0;

  constructor(folder, files, store, onprogress) {
    this.#folder = folder;
    this.#store = store;
    this.#onprogress = onprogress;
    const all = new Map();
    for (const [file, { sha256, pieces: listed }] of Object.entries(files)) {
      const pieces = listed.map(([digest, size, width, packed]) => ({ file, sha256: digest, size, width, packed }));
      this.#files.set(file, { sha256, pieces });
      pieces.forEach((piece) => all.set(piece.sha256, piece));
    }
    this.#named = new Set(all.keys());
    this.#progress.total = [...all.values()].reduce((sum, { packed }) => sum + packed, 0);
    this.#fetchAll([...all.values()]);
  }

  /**
   * The whole file of a manifest's entry.
   * @param {{file: string, size: number, sha256: string}} entry
   * @returns {Promise<Uint8Array<ArrayBuffer>>} rejected with a ConnectionError; with a BundleError for pieces that are not those
   *   of the list, and for a list that is not of this manifest
   */
  async read({ file, size, sha256 }) {
    const listed = this.#files.get(file);
    if (listed?.sha256 !== sha256) {
      throw new BundleError(`pieces.json has no ${file} with sha256 ${sha256}: the site has changed. Reload the page.`);
    }
    const bytes = new Uint8Array(size);
    let end = 0;
    const places = listed.pieces.map((piece) => ({ piece, start: (end += piece.size) - piece.size }));
    await Promise.all(places.map(async ({ piece, start }) => bytes.set(await this.#bytes(piece), start)));
    return bytes;
  }

  /** Removes pieces that are kept of this site and that the list no longer names. */
  async removeOthers() {
    for (const request of (await this.#store?.keys()) ?? []) {
      const sha256 = request.url.startsWith(this.#folder.href) && request.url.slice(this.#folder.href.length);
      if (sha256 && !this.#named.has(sha256)) await this.#store.delete(request);
    }
  }

  /** In the order of the list. @param {Piece[]} pieces */
  #fetchAll(pieces) {
    const waiting = pieces.map((piece) => {
      /** @type {any} */
      let settle;
      const download = new Promise((resolve, reject) => (settle = { resolve, reject }));
      download.catch(() => {}); // who reads the piece is told
      this.#downloads.set(piece.sha256, download);
      return { piece, ...settle };
    });
    const task = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        await this.#download(next.piece).then(next.resolve, next.reject);
      }
    };
    for (let count = 0; count < SIDE_BY_SIDE; ++count) task();
  }

  /** Sees to it that the store has a piece; its bytes where it cannot. @param {Piece} piece */
  async #download(piece) {
    const { packed } = piece;
    if (await this.#store?.match(this.#url(piece))) {
      this.#report({ loaded: this.#progress.loaded + packed, kept: this.#progress.kept + packed });
      return null;
    }
    const bytes = await this.#fetch(piece);
    if (!this.#store) return bytes;
    try {
      await this.#store.put(this.#url(piece), new Response(bytes));
      return null;
    } catch (error) {
      if (error.name !== 'QuotaExceededError') throw error;
      this.#report({ full: true });
      return bytes;
    }
  }

  /** @param {Piece} piece @returns {Promise<Uint8Array<ArrayBuffer>>} */
  async #bytes(piece) {
    const { sha256 } = piece;
    const bytes = await this.#downloads.get(sha256);
    if (bytes) {
      this.#downloads.delete(sha256); // the memory is free once it is used
      return bytes;
    }
    const response = await this.#store?.match(this.#url(piece));
    const kept = response && new Uint8Array(await response.arrayBuffer());
    if (kept && (await digest(kept)) === sha256) return kept;
    await this.#store?.delete(this.#url(piece)); // the browser gave it up, or the disk has changed it
    return this.#fetch(piece);
  }

  /** @param {Piece} piece @returns {Promise<Uint8Array<ArrayBuffer>>} */
  async #fetch(piece) {
    for (let attempt = 1; ; ++attempt) {
      try {
        return await this.#attempt(piece);
      } catch (error) {
        if (error.final || attempt === ATTEMPTS) throw error;
        if (globalThis.navigator?.onLine === false) {
          await this.#connection();
          attempt = 0;
        } else await pause(PAUSE * 2 ** (attempt - 1));
      }
    }
  }

  /** @param {Piece} piece @returns {Promise<Uint8Array<ArrayBuffer>>} what the list names, else it is rejected */
  async #attempt(piece) {
    const { file, sha256, size } = piece;
    let there = 0;
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE);
    try {
      const options = { cache: /** @type {const} */ ('no-store'), signal: silence.signal }; // one copy is enough
      const response = await refuse(await answer(this.#url(piece), options), `A piece of ${file}`);
      const parts = [];
      for await (const part of chunks(response.body, file)) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE);
        parts.push(part);
        there += part.length;
        this.#report({ loaded: this.#progress.loaded + part.length });
      }
      const bytes = await unpacked(parts, piece).catch(() => null); // cut short, or of other bytes
      if (bytes?.length !== size || (await digest(bytes)) !== sha256) {
        throw new BundleError(
          `A piece of ${file} has not the ${size} bytes with sha256 ${sha256} that the list names. ` +
            'If it stays so, the site is damaged: write it again.',
        );
      }
      return bytes;
    } catch (error) {
      this.#report({ loaded: this.#progress.loaded - there });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits until the browser has a connection again. */
  async #connection() {
    this.#report({ offline: true });
    while (!navigator.onLine) await pause(PAUSE); // the event `online` does not reach every worker
    this.#report({ offline: false });
  }

  #report(changes) {
    const progress = Object.assign(this.#progress, changes);
    const { loaded, total } = progress;
    const quiet = 'loaded' in changes && loaded < total && Math.abs(loaded - this.#reported) < STEP;
    if (quiet) return;
    this.#reported = loaded;
    this.#onprogress({ ...progress });
  }

  /** @param {Piece} piece */
  #url({ sha256 }) {
    return new URL(sha256, this.#folder).href;
  }
}

/** @param {Uint8Array<ArrayBuffer>[]} parts @param {Piece} piece @returns {Promise<Uint8Array<ArrayBuffer>>} */
async function unpacked(parts, { width }) {
  const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream('deflate'));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (width === 1) return planes;
  const bytes = new Uint8Array(planes.length);
  const count = planes.length / width;
  for (let plane = 0, from = 0; plane < width; ++plane) {
    for (let to = plane; from < (plane + 1) * count; to += width) bytes[to] = planes[from++];
  }
  return bytes;
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Where pieces are kept; null where the browser keeps nothing, as some private windows do. */
async function store() {
  try {
    return await globalThis.caches.open(CACHE);
  } catch {
    return null;
  }
}

/** What a server answers. @param {URL | string} url @param {RequestInit} options */
async function answer(url, options) {
  try {
    return await fetch(url, options);
  } catch (error) {
    throw new ConnectionError(`${url} cannot be reached (${error.message}).`, { cause: error });
  }
}

/** @param {Response} response @param {string} what it should be */
async function refuse(response, what) {
  const { status } = response;
  if (response.ok) return response;
  if (status >= 500 || status === 429) throw new ConnectionError(`${what} cannot be had: the server answers ${status}.`);
  const error = new BundleError(`${what} is not there (${status}): the site has changed. Reload the page.`);
  throw Object.assign(error, { final: true });
}

/** @param {ReadableStream<Uint8Array>} stream @param {string} file */
async function* chunks(stream, file) {
  const reader = stream.getReader();
  for (;;) {
    let next;
    try {
      next = await reader.read();
    } catch (error) {
      throw new ConnectionError(`The connection was lost while ${file} was loaded (${error.message}).`, { cause: error });
    }
    if (next.done) return;
    yield next.value;
  }
}

const digest = async (bytes) =>
  [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
