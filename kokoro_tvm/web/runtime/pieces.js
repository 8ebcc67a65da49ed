/**
 * Files of a bundle in pieces named by their sha256: fetched in parallel, unpacked, verified and stored.
 *
 * kokoro_tvm/publish/pieces.py writes them. Unpacked content is stored, so that a later visit unpacks nothing.
 */

import { BundleError, ConnectionError, UnsupportedError } from '../errors.js';
import { RELAXED, features } from './features.js';
import { received } from './folder.js';
import { Kept } from './kept.js';

const LIST = 'pieces.json'; // in the bundle's folder
const FOLDER = '../pieces/'; // relative to that
const SCHEMA = 2; // schema of the list that this version reads
const SIDE_BY_SIDE = 6;
const ATTEMPTS = 5; // at each piece while there is a connection
const PAUSE = 500; // milliseconds before the second attempt; doubles each time
const SILENCE = 30_000; // milliseconds without a byte after which an attempt fails
const STEP = 1 << 20; // bytes between reports of progress

/**
 * Progress of loading. `loaded` of `total` transferred bytes are there, without files that are read apart; `kept` of
 * them are from an earlier visit. `offline`: it waits for a connection. `full`: the browser has no room to store what
 * is loaded.
 * @typedef {{loaded: number, total: number, kept: number, offline: boolean, full: boolean}} Progress
 */

/**
 * A piece of a file: sha256 and size; `packed`: transferred bytes, with the bytes of every `width` apart; `apart`: the
 * file is read in ranges on demand.
 * @typedef {{file: string, sha256: string, size: number, width: number, packed: number, apart: boolean}} Piece
 */

/** Files of a bundle whose pieces are fetched ahead of a sequential reader. */
export class Pieces {
  /**
   * Read the list of a bundle's folder, or of the bundle that the list names for engines with relaxed SIMD.
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
    if (list.relaxed && features().includes(RELAXED)) return Pieces.open(new URL(list.relaxed, base), onprogress);
    const folder = new URL(FOLDER, base);
    const site = await digest(new TextEncoder().encode(folder.href));
    return new Pieces(base, folder, list.files, await Kept.open(site), onprogress);
  }

  #folder;
  #kept;
  #onprogress;
  /** @type {Map<string, {sha256: string, pieces: Piece[], first: number}>} first: where they are in the order */
  #files = new Map();
  /** @type {Piece[]} of all files that are read from beginning to end, as they are listed */
  #order = [];
  /** @type {Map<string, Promise<Uint8Array<ArrayBuffer>>>} those not read yet, by their sha256 */
  #ahead = new Map();
  /** @type {ArrayBuffer[]} memory of pieces that were read, for the next ones */
  #room = [];
  #counted = new Set(); // digests of the pieces that the progress counts
  #progress = { loaded: 0, total: 0, kept: 0, offline: false, full: false };
  #reported = 0;

  /** @param {URL} base @param {URL} folder
   * @param {Record<string, {sha256: string, apart: boolean, pieces: [string, number, number, number][]}>} files
   * @param {Kept | null} kept @param {(progress: Progress) => void} onprogress */
  constructor(base, folder, files, kept, onprogress) {
    this.base = base; // the folder of the chosen bundle
    this.#folder = folder;
    this.#kept = kept;
    this.#onprogress = onprogress;
    for (const [file, { sha256, apart, pieces: listed }] of Object.entries(files)) {
      const pieces = listed.map(([digest, size, width, packed]) => ({ file, sha256: digest, size, width, packed, apart }));
      this.#files.set(file, { sha256, pieces, first: this.#order.length });
      if (!apart) this.#order.push(...pieces);
    }
    for (const piece of new Map(this.#order.map((item) => [item.sha256, item])).values()) {
      this.#progress.total += piece.packed;
      if (!kept?.names.has(piece.sha256)) continue;
      this.#counted.add(piece.sha256);
      this.#progress.kept += piece.packed;
    }
    this.#progress.loaded = this.#progress.kept;
    this.#report({});
  }

  /**
   * Yield the content of an entry's file in order, each part until the next. Later pieces of the list are fetched
   * meanwhile.
   * @param {{file: string, sha256: string}} entry
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fails with a ConnectionError; with a BundleError for pieces
   *   that are not those of the list, and for a list that is not of this manifest
   */
  async *parts(entry) {
    const { first, pieces } = this.#listed(entry);
    for (let place = first; place < first + pieces.length; ++place) {
      for (const piece of this.#order.slice(place, place + SIDE_BY_SIDE)) this.#begin(piece);
      const { sha256: digest } = this.#order[place];
      const bytes = this.#ahead.get(digest);
      this.#ahead.delete(digest);
      const part = /** @type {Uint8Array<ArrayBuffer>} */ (await bytes);
      yield part;
      this.#room.push(part.buffer);
      const least = this.#room.sort((a, b) => b.byteLength - a.byteLength).splice(SIDE_BY_SIDE);
      least.forEach(freed);
    }
  }

  /**
   * Return a range of a file that is read apart. Fails as `parts`.
   * @param {{file: string, sha256: string}} entry
   * @param {number} begin
   * @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async range(entry, begin, end) {
    const bytes = new Uint8Array(end - begin);
    let at = 0; // beginning of the piece
    for (const piece of this.#listed(entry).pieces) {
      if (at < end && at + piece.size > begin) {
        const content = await this.#bytes(piece);
        bytes.set(content.subarray(Math.max(0, begin - at), end - at), Math.max(0, at - begin));
        freed(content.buffer);
      }
      at += piece.size;
    }
    return bytes;
  }

  /** @param {{file: string, sha256: string}} entry */
  #listed({ file, sha256 }) {
    const listed = this.#files.get(file);
    if (listed?.sha256 === sha256) return listed;
    throw new BundleError(`pieces.json has no ${file} with sha256 ${sha256}: the site has changed. Reload the page.`);
  }

  /** Free the memory of reading, once everything is read. */
  settle() {
    this.#room.splice(0).forEach(freed);
  }

  /**
   * Remove stored pieces of this site that neither this list nor other bundles of the site name.
   * @param {...URL} bases folders of these
   */
  async removeOthers(...bases) {
    const lists = await Promise.all(bases.map(async (base) => (await answer(new URL(LIST, base), {})).json()));
    const others = lists.flatMap(({ files }) => Object.values(files).flatMap(({ pieces }) => pieces));
    const own = [...this.#files.values()].flatMap(({ pieces }) => pieces.map((piece) => piece.sha256));
    const named = new Set([...own, ...others.map(([sha256]) => sha256)]);
    const left = [...(this.#kept?.names ?? [])].filter((name) => !named.has(name));
    await Promise.all(left.map((name) => this.#kept?.remove(name)));
  }

  /** @param {Piece} piece */
  #begin(piece) {
    if (this.#ahead.has(piece.sha256)) return;
    const bytes = this.#bytes(piece);
    bytes.catch(() => {}); // the reader of the piece gets the error
    this.#ahead.set(piece.sha256, bytes);
  }

  /** @param {Piece} piece @returns {Promise<Uint8Array<ArrayBuffer>>} */
  async #bytes(piece) {
    const { sha256, size } = piece;
    if (this.#kept?.names.has(sha256)) {
      const bytes = await this.#kept.read(sha256, this.#roomFor(size));
      if (bytes && (await digest(bytes)) === sha256) return bytes;
      await this.#forget(piece); // the browser dropped it, or the disk changed it
    }
    const bytes = await this.#fetch(piece);
    await this.#keep(piece, bytes);
    return bytes;
  }

  /** @param {number} size @returns {Uint8Array<ArrayBuffer>} */
  #roomFor(size) {
    const place = this.#room.findIndex(({ byteLength }) => byteLength >= size);
    const [buffer] = place < 0 ? [new ArrayBuffer(size)] : this.#room.splice(place, 1);
    return new Uint8Array(buffer, 0, size);
  }

  /** @param {Piece} piece @param {Uint8Array<ArrayBuffer>} bytes */
  async #keep({ sha256 }, bytes) {
    try {
      await this.#kept?.write(sha256, bytes);
    } catch (error) {
      if (error.name !== 'QuotaExceededError') throw error;
      this.#report({ full: true });
    }
  }

  /** @param {Piece} piece */
  async #forget({ sha256, packed, apart }) {
    await this.#kept?.remove(sha256);
    if (apart) return;
    this.#counted.delete(sha256);
    this.#report({ loaded: this.#progress.loaded - packed, kept: this.#progress.kept - packed });
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
    const { file, sha256, size, width, apart } = piece;
    const isCounted = apart || this.#counted.has(sha256); // another file has the same piece
    let available = 0;
    const come = (bytes) => {
      available += bytes;
      if (!isCounted) this.#report({ loaded: this.#progress.loaded + bytes });
    };
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE);
    try {
      const options = { cache: /** @type {const} */ ('no-store'), signal: silence.signal }; // one copy is enough
      const response = await refuse(await answer(this.#url(piece), options), `A piece of ${file}`);
      const parts = [];
      for await (const part of received(/** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body), file)) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE);
        parts.push(part);
        come(part.length);
      }
      const bytes = this.#roomFor(size);
      const whole = await unpack(parts, width, bytes).catch(() => false); // cut short, or of other bytes
      if (!whole || (await digest(bytes)) !== sha256) {
        throw new BundleError(
          `A piece of ${file} has not the ${size} bytes with sha256 ${sha256} that the list names. ` +
            'If it stays so, the site is damaged: write it again.',
        );
      }
      this.#counted.add(sha256);
      return bytes;
    } catch (error) {
      come(-available);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Wait until the browser has a connection. */
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

  /** @param {{sha256: string}} piece */
  #url({ sha256 }) {
    return new URL(sha256, this.#folder).href;
  }
}

/**
 * Unpack a piece.
 * @param {Uint8Array<ArrayBuffer>[]} parts of what was sent
 * @param {number} width see `Piece`
 * @param {Uint8Array<ArrayBuffer>} bytes where its content goes
 * @returns {Promise<boolean>} whether that is filled exactly; rejected for what is not packed
 */
async function unpack(parts, width, bytes) {
  const sent = new ReadableStream({
    pull(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  const count = bytes.length / width; // of a plane
  let available = 0;
  for await (const part of received(sent.pipeThrough(new DecompressionStream('deflate')), 'a piece')) {
    if (available + part.length > bytes.length) return false;
    for (let from = 0; from < part.length; ) {
      const plane = Math.floor(available / count);
      let to = (available % count) * width + plane;
      const end = Math.min(part.length, from + (plane + 1) * count - available);
      available += end - from;
      for (; from < end; to += width) bytes[to] = part[from++];
    }
  }
  return available === bytes.length;
}

/** Free memory that nothing refers to any more. @param {any} buffer */
const freed = (buffer) => buffer.transfer?.(0);

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/**
 * Fetch an address; a failure is a ConnectionError.
 * @param {URL | string} url
 * @param {RequestInit} options
 */
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

const digest = async (bytes) =>
  [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
