/** Files of a bundle in a folder, compared with their sha256 while they are read. */

import { BundleError, ConnectionError } from '../errors.js';
import { quoted } from '../notices.js';
import { newSha256 } from './sha256.js';

const PART = 1 << 20; // bytes per read from a disk

/**
 * Opens a file by name and returns its parts; each part may overwrite the last.
 * @typedef {(name: string) => Promise<AsyncIterable<Uint8Array>>} Open
 */

/**
 * Return a function that opens files below an address, which ends in a slash: a server's, or in Node a folder's.
 * @param {string | URL} base
 * @returns {Open}
 */
export function below(base) {
  const isFolder = new URL(base).protocol === 'file:';
  return (name) => (isFolder ? onDisk : fetched)(new URL(name, base), name);
}

async function fetched(url, name) {
  const response = await fetch(url);
  if (!response.ok) throw new BundleError(`${name} cannot be had: the server answers ${response.status}.`);
  return received(/** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body), name);
}

async function onDisk(url, name) {
  const { open } = await import('node:fs/promises');
  try {
    return read(await open(url));
  } catch (error) {
    throw new BundleError(`${name} cannot be had: ${error.message}.`, { cause: error });
  }
}

async function* read(file) {
  const buffer = new Uint8Array(PART); // one buffer for all parts: garbage of a bundle's size is collected late
  try {
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, PART, null);
      if (!bytesRead) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/**
 * Yield the parts of a stream; not every browser supports `for await` on streams.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} stream
 * @param {string} file for messages
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fails with a ConnectionError
 */
export async function* received(stream, file) {
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

/** A folder with a bundle. */
export class Folder {
  #open;
  /** @type {Map<string, Promise<Uint8Array>>} of files that ranges were read of */
  #whole = new Map();

  /** @param {Open} open */
  constructor(open) {
    this.#open = open;
  }

  /**
   * Return the text of a file that is not verified.
   * @param {string} name
   * @returns {Promise<string>}
   */
  async text(name) {
    const decoder = new TextDecoder();
    let text = '';
    for await (const part of await this.#open(name)) text += decoder.decode(part, { stream: true });
    return text + decoder.decode();
  }

  /**
   * Parse a JSON file.
   * @param {string} name
   * @returns {Promise<any>} fails with a BundleError where it is none
   */
  async json(name) {
    const text = await this.text(name);
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new BundleError(`${name} is not JSON (${error.message}). Load the bundle again.`, { cause: error });
    }
  }

  /**
   * Return a range of an entry's file, which is read once. Fails as `parts`.
   * @param {{file: string, size: number, sha256: string}} entry
   * @param {number} begin
   * @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async range(entry, begin, end) {
    const { file } = entry;
    if (!this.#whole.has(file)) this.#whole.set(file, whole(this, entry));
    return new Uint8Array((await this.#whole.get(file)).subarray(begin, end)); // a copy: Node's `slice` of a Buffer copies nothing
  }

  /**
   * Yield the content of an entry's file in order. Use it only after the last part came without an error.
   * @param {{file: string, size: number, sha256: string}} entry
   * @returns {AsyncGenerator<Uint8Array>} fails with a BundleError where it is not what the manifest names
   */
  async *parts({ file, size, sha256 }) {
    refuseOutside(file);
    const digest = await newSha256();
    let available = 0;
    for await (const part of await this.#open(file)) {
      digest.update(part);
      available += part.length;
      if (available <= size) yield part;
    }
    const result = digest.hex();
    if (available !== size || result !== sha256) {
      throw new BundleError(
        `${file} has ${available} bytes with sha256 ${result}; the manifest names ${size} and ${sha256}. ` +
          'Load the bundle again.',
      );
    }
  }
}

/** Throw a BundleError for a file name that leads out of the bundle. @param {unknown} name */
function refuseOutside(name) {
  // On Windows, \\ separates; : follows a drive or the scheme of an address. ?, # and % are no part of a path.
  const leaves = typeof name !== 'string' || !name || /^\/|[\\:?#%\t\r\n]/.test(name) || name.split('/').includes('..');
  if (!leaves) return;
  const shown = quoted(String(name));
  throw new BundleError(`bundle.json: the file ${shown} lies outside the bundle. Build the bundle again.`);
}

/**
 * Return the bytes of an entry's file.
 * @param {{parts: (entry: any) => AsyncIterable<Uint8Array>}} files
 * @param {{file: string, size: number, sha256: string}} entry
 */
export async function whole(files, entry) {
  const bytes = new Uint8Array(entry.size);
  let at = 0;
  for await (const part of files.parts(entry)) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
