/**
 * Pieces in the browser's storage: files of the origin's private file system, in a folder per site.
 *
 * A worker reads them in a third of the CPU time of Cache Storage.
 */

const FOLDER = 'kokoro-tvm-pieces';

/** Stored pieces of a site by name. */
export class Kept {
  /**
   * @param {string} site a name for it
   * @returns {Promise<Kept | null>} null where the browser keeps nothing, as some private windows do
   */
  static async open(site) {
    if (!(/** @type {any} */ (globalThis.FileSystemFileHandle)?.prototype.createSyncAccessHandle)) return null;
    try {
      const root = await navigator.storage.getDirectory();
      const all = await root.getDirectoryHandle(FOLDER, { create: true });
      const folder = await all.getDirectoryHandle(site, { create: true });
      const names = new Set();
      for await (const name of /** @type {any} */ (folder).keys()) names.add(name);
      return new Kept(folder, names);
    } catch {
      return null;
    }
  }

  #folder;
  /** @type {Set<string>} */
  names;

  /** @param {FileSystemDirectoryHandle} folder @param {Set<string>} names what is there */
  constructor(folder, names) {
    this.#folder = folder;
    this.names = names;
  }

  /**
   * Read a piece.
   * @param {string} name
   * @param {Uint8Array<ArrayBuffer>} room as much as it has
   * @returns {Promise<Uint8Array<ArrayBuffer> | null>} `room`, or another array where another tab has the file open;
   *   null where it is not there any more, or has another length
   */
  async read(name, room) {
    try {
      const file = await this.#folder.getFileHandle(name);
      const handle = await opened(file, 'read-only');
      if (!handle) return new Uint8Array(await (await file.getFile()).arrayBuffer());
      try {
        return handle.getSize() === room.length && handle.read(room, { at: 0 }) === room.length ? room : null;
      } finally {
        handle.close();
      }
    } catch (error) {
      if (error.name === 'NotFoundError') return null;
      throw error;
    }
  }

  /**
   * Store a piece.
   * @param {string} name
   * @param {Uint8Array<ArrayBuffer>} bytes
   * @returns {Promise<void>} rejected with a QuotaExceededError where there is no room
   */
  async write(name, bytes) {
    const file = await this.#folder.getFileHandle(name, { create: true });
    const handle = await opened(file, 'readwrite');
    if (!handle) return; // another tab is writing the same
    try {
      const written = handle.write(bytes, { at: 0 });
      if (written < bytes.length) throw new DOMException('The disk is full.', 'QuotaExceededError');
      handle.truncate(written);
      this.names.add(name);
    } catch (error) {
      handle.close();
      await this.remove(name);
      throw error;
    }
    handle.close();
  }

  /** @param {string} name */
  async remove(name) {
    this.names.delete(name);
    await this.#folder.removeEntry(name).catch(unless('NotFoundError', LOCKED)); // another tab removed it, or has it open
  }
}

const LOCKED = 'NoModificationAllowedError';

/**
 * Open a file for synchronous access; null while another tab has it open.
 * @param {FileSystemFileHandle} file
 * @param {string} mode
 * @returns {Promise<any>}
 */
const opened = (file, mode) => /** @type {any} */ (file).createSyncAccessHandle({ mode }).catch(unless(LOCKED));

/** Return null instead of an error with one of these names. */
const unless = (...names) => (error) => {
  if (names.includes(error.name)) return null;
  throw error;
};
