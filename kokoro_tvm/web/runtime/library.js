/** A dynamic linker for WebAssembly: libraries that share memory, table and stack of one runtime.
 *
 * The format is that of WebAssembly's tool conventions (DynamicLinking.md): a custom section `dylink.0` says how
 * much memory and table a library wants; where it gets them is an import.
 */

const MEMORY_INFO = 1; // the subsection of dylink.0

/** What a module's section `dylink.0` asks for; alignment in bytes. Throws where it is no library.
 * @param {WebAssembly.Module} module
 * @returns {{memory: number, alignment: number, table: number}}
 */
export function needs(module) {
  const [section] = WebAssembly.Module.customSections(module, 'dylink.0');
  if (!section) throw new TypeError('the module is no library: it has no section dylink.0');
  const bytes = new Uint8Array(section);
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value |= (byte & 127) << shift;
      if (!(byte & 128)) return value >>> 0;
    }
  };
  while (at < bytes.length) {
    const kind = bytes[at++];
    const size = number();
    if (kind !== MEMORY_INFO) at += size;
    else {
      const [memory, alignment, table] = [number(), 2 ** number(), number()];
      return { memory, alignment, table };
    }
  }
  return { memory: 0, alignment: 1, table: 0 };
}

/** One library, at its place in the runtime's memory and table. */
export class Library {
  /**
   * @param {WebAssembly.Module} module
   * @param {WebAssembly.Exports} runtime what the library takes from outside, besides its own
   * @param {(size: number, alignment: number) => number} allocate memory that stays
   */
  constructor(module, runtime, allocate) {
    const { memory, alignment, table } = needs(module);
    this.base = memory ? allocate(memory, alignment) : 0;
    new Uint8Array(runtime.memory.buffer, this.base, memory).fill(0);
    this.table = runtime.__indirect_function_table;
    this.addresses = new Map();
    const tableBase = this.table.length;
    this.table.grow(table);
    const got = new Map();
    const imports = { env: {}, 'GOT.mem': {}, 'GOT.func': {} };
    const constant = (value) => new WebAssembly.Global({ value: 'i32', mutable: false }, value);
    const given = {
      memory: runtime.memory,
      __indirect_function_table: this.table,
      __stack_pointer: runtime.__stack_pointer,
      __memory_base: constant(this.base),
      __table_base: constant(tableBase),
    };
    const own = new Set(WebAssembly.Module.exports(module).map((each) => each.name));
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      if (from !== 'env') {
        const place = new WebAssembly.Global({ value: 'i32', mutable: true }, 0);
        got.set(`${from}:${name}`, [name, place]);
        imports[from][name] = place;
      } else if (name in given) imports.env[name] = given[name];
      else if (name in runtime) imports.env[name] = runtime[name];
      // A weak function of its own, which another library might have replaced.
      else if (own.has(name)) imports.env[name] = (...values) => this.exports[name](...values);
      else throw new WebAssembly.LinkError(`nobody has ${name}, which the library takes from outside`);
    }
    this.exports = new WebAssembly.Instance(module, imports).exports;
    for (const [name, place] of got.values()) {
      place.value = this.symbol(name) || this.#inTable(runtime[name]);
      if (!place.value) throw new WebAssembly.LinkError(`nobody has ${name}, which the library refers to`);
    }
    this.exports.__wasm_apply_data_relocs?.();
    this.exports.__wasm_call_ctors?.();
  }

  /** The address of a function or a variable; 0 where the library has none of that name. */
  symbol(name) {
    const found = this.exports[name];
    if (found instanceof WebAssembly.Global) return this.base + found.value;
    return this.#inTable(found);
  }

  #inTable(found) {
    if (typeof found !== 'function') return 0;
    if (!this.addresses.has(found)) {
      const index = this.table.grow(1);
      this.table.set(index, found);
      this.addresses.set(found, index);
    }
    return this.addresses.get(found);
  }
}
