/** Sections of WebAssembly modules that JavaScript has no function for. */

const HEAD = 8; // bytes of a module before its sections
const IMPORTS = 2; // the section of imports
const MEMORY = 2; // a kind of import
const SHARED = 2; // a bit of a memory's flags
const LIMITED = 1; // another bit
const MEMORY_INFO = 1; // the subsection of dylink.0

class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** Read an unsigned LEB128 number. */
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

/**
 * Return what a library's section `dylink.0` requires, alignment in bytes. Throws if there is no such section.
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

/**
 * Return the memory that a module imports, in pages, or null. The linker writes this import first.
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
    reader.number(); // their number
    for (let names = 0; names < 2; ++names) reader.skip(reader.number());
    if (reader.number() !== MEMORY) return null;
    const flags = reader.at;
    if (!(reader.number() & LIMITED)) return null;
    return { flags, initial: reader.number(), maximum: reader.number() };
  }
  return null;
}

/**
 * Return a module whose imported memory is shared between threads. Only one bit changes, not the code.
 * @param {Uint8Array} bytes
 */
export function sharing(bytes) {
  const memory = memoryOf(bytes);
  if (!memory) return bytes; // a module without that import runs, or fails, as without threads
  const copy = bytes.slice();
  copy[memory.flags] |= SHARED;
  return copy;
}
