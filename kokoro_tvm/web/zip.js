/** Files of a ZIP archive (PKWARE's APPNOTE 6.3.10, sections 4.3.7, 4.3.12, 4.3.16), each unpacked when it is read. */

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const END_BYTES = 22;
const MOST_COMMENT = 0xffff; // bytes after the end record
const MOST_BYTES = 256 << 20; // of all unpacked files, whatever the archive says
const STORED = 0;
const DEFLATED = 8;

export class Archive {
  #data;
  #view;
  #entries = /** @type {Map<string, {method: number, start: number, size: number}>} */ (new Map());
  #room = MOST_BYTES;

  /** @param {Uint8Array<ArrayBuffer>} data */
  constructor(data) {
    this.#data = data;
    this.#view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const last = data.length - END_BYTES;
    let end = last;
    while (end >= Math.max(0, last - MOST_COMMENT) && this.#view.getUint32(end, true) !== END) end--;
    if (end < 0 || this.#view.getUint32(end, true) !== END) throw new Error("it is no archive, or damaged.");
    let place = this.#view.getUint32(end + 16, true);
    for (let left = this.#view.getUint16(end + 10, true); left; left--) place = this.#list(place);
  }

  /** @param {number} place of an entry @returns {number} place of the next */
  #list(place) {
    const view = this.#view;
    if (place + 46 > view.byteLength || view.getUint32(place, true) !== ENTRY) throw new Error("it is damaged: download it again.");
    const [name, extra, comment] = [28, 30, 32].map((field) => view.getUint16(place + field, true));
    const [size, start] = [20, 42].map((field) => view.getUint32(place + field, true));
    const path = new TextDecoder().decode(this.#data.subarray(place + 46, place + 46 + name));
    this.#entries.set(path, { method: view.getUint16(place + 10, true), start, size });
    return place + 46 + name + extra + comment;
  }

  /** @returns {string[]} */
  get paths() {
    return [...this.#entries.keys()];
  }

  /** @param {string} path @returns {boolean} */
  has(path) {
    return this.#entries.has(path);
  }

  /** @param {string} path @returns {Promise<Uint8Array>} */
  async read(path) {
    const entry = this.#entries.get(path);
    if (!entry) throw new Error(`it lacks ${path || "a file"}.`);
    if (entry.start + 30 > this.#view.byteLength) throw new Error("it is damaged: download it again.");
    const [name, extra] = [26, 28].map((field) => this.#view.getUint16(entry.start + field, true));
    const start = entry.start + 30 + name + extra;
    const packed = new Blob([this.#data.subarray(start, start + entry.size)]);
    if (entry.method === STORED) return this.#all(packed.stream());
    if (entry.method !== DEFLATED) throw new Error(`${path} is packed in a way that is not read here.`);
    return this.#all(packed.stream().pipeThrough(new DecompressionStream("deflate-raw")));
  }

  /** @param {ReadableStream<Uint8Array<ArrayBuffer>>} stream @returns {Promise<Uint8Array>} */
  async #all(stream) {
    const parts = [];
    const reader = stream.getReader();
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      const part = /** @type {Uint8Array<ArrayBuffer>} */ (value);
      this.#room -= part.length;
      if (this.#room < 0) {
        reader.cancel();
        throw new Error(`it unpacks to more than ${MOST_BYTES >> 20} MB, which is too much.`);
      }
      parts.push(part);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }
}
