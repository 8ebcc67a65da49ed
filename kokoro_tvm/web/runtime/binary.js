/** What WebAssembly modules say of themselves that JavaScript has no function to ask for. */

const HEAD = 8; // bytes of a module before its sections
const IMPORTS = 2; // the section of what a module takes from outside
const MEMORY = 2; // a kind of import
const SHARED = 2; // a bit of a memory's flags
const LIMITED = 1; // another
const MEMORY_INFO = 1; // the subsection of dylink.0

class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** An unsigned number, as LEB128. */
  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++];
      value |= (byte & 127) << shift;
      if (!(byte & 128)) return value >>> 0;
    }
  }

  skip(count) {
    this.at += count;
  }
}

/** What a module's section `dylink.0` asks for; alignment in bytes. Throws where it is no library.
 * @param {WebAssembly.Module} module
 * @returns {{memory: number, alignment: number, table: number}}
 */
export function needs(module) {
  const [section] = WebAssembly.Module.customSections(module, 'dylink.0');
  if (!section) throw new TypeError('the module is no library: it has no section dylink.0');
  const reader = new Reader(new Uint8Array(section));
  while (reader.at < section.byteLength) {
    const kind = reader.number();
    const size = reader.number();
    if (kind === MEMORY_INFO) {
      const [memory, alignment, table] = [reader.number(), 2 ** reader.number(), reader.number()];
      return { memory, alignment, table };
    }
    reader.skip(size);
  }
  return { memory: 0, alignment: 1, table: 0 };
}

/** The memory that a module takes from outside, in pages, or null where it takes none; the linker names it
 * before everything else.
 * @param {Uint8Array} bytes the module
 * @returns {{flags: number, initial: number, maximum: number} | null} flags: their place among the bytes
 */
export function memoryOf(bytes) {
  const reader = new Reader(bytes, HEAD);
  while (reader.at < bytes.length) {
    const section = reader.number();
    const size = reader.number();
    if (section !== IMPORTS) {
      reader.skip(size);
      continue;
    }
    reader.number(); // how many
    for (let names = 0; names < 2; ++names) reader.skip(reader.number());
    if (reader.number() !== MEMORY) return null;
    const flags = reader.at;
    if (!(reader.number() & LIMITED)) return null;
    return { flags, initial: reader.number(), maximum: reader.number() };
  }
  return null;
}

/** The same module, except that the memory it takes from outside is shared between threads. All that differs
 * is a bit: its code is the same.
 * @param {Uint8Array} bytes
 */
export function sharing(bytes) {
  const memory = memoryOf(bytes);
  if (!memory) return bytes; // a module that takes none fails, or runs, as it would without threads
  const copy = bytes.slice();
  copy[memory.flags] |= SHARED;
  return copy;
}
