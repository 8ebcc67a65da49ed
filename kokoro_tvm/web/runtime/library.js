/**
 * Dynamic linker for WebAssembly: libraries share memory, table and stack of one runtime.
 *
 * The format is WebAssembly's tool convention (DynamicLinking.md): a custom section `dylink.0` says how much memory
 * and table a library needs, and imports say where they are.
 */

import { needs } from './binary.js';

/**
 * The place of a library, for other threads: its memory begins at `base`, its part of the table at `table`;
 * `addresses` are its imports in order.
 * @typedef {{module: WebAssembly.Module, base: number, table: number, addresses: number[]}} Place
 */

/** A library at its place in the runtime's memory and table. */
export class Library {
  /**
   * @param {WebAssembly.Module} module
   * @param {WebAssembly.Exports} runtime what the library takes from outside, besides its own
   * @param {(size: number, alignment: number) => number} allocate memory that stays
   * @param {(place: Place) => void} share returns once every other thread has the library, too
   */
  constructor(module, runtime, allocate, share = () => {}) {
    const { memory, alignment, table } = needs(module);
    this.base = memory ? allocate(memory, alignment) : 0;
    new Uint8Array(runtime.memory.buffer, this.base, memory).fill(0);
    this.table = runtime.__indirect_function_table;
    this.functions = new Map();
    const place = { module, base: this.base, table: this.table.length, addresses: [] };
    this.table.grow(table);
    const { exports, lookups } = instantiate(runtime, place);
    this.exports = exports;
    for (const { name, global } of lookups) {
      global.value = this.symbol(name) || this.#inTable(runtime[name]);
      if (!global.value) throw new WebAssembly.LinkError(`nobody has ${name}, which the library refers to`);
      place.addresses.push(global.value);
    }
    share(place); // every instance writes the initial data: the last one has to, before anything changes them
    exports.__wasm_apply_data_relocs?.();
    exports.__wasm_call_ctors?.();
  }

  /** Return the address of a function or a variable; 0 if there is none of that name. */
  symbol(name) {
    const result = this.exports[name];
    if (result instanceof WebAssembly.Global) return this.base + result.value;
    return this.#inTable(result);
  }

  #inTable(result) {
    if (typeof result !== 'function') return 0;
    if (!this.functions.has(result)) {
      const index = this.table.grow(1);
      this.table.set(index, result);
      this.functions.set(result, index);
    }
    return this.functions.get(result);
  }
}

/**
 * Load another thread's library in this one at the same addresses of the shared memory.
 * @param {WebAssembly.Exports} runtime
 * @param {Place} place
 */
export function mirror(runtime, place) {
  const table = runtime.__indirect_function_table;
  const reach = (size) => table.grow(Math.max(0, size - table.length));
  reach(place.table + needs(place.module).table);
  const { exports, lookups } = instantiate(runtime, place);
  lookups.forEach(({ name, global, isFunction }, index) => {
    const address = place.addresses[index];
    global.value = address;
    if (!isFunction) return;
    reach(address + 1);
    table.set(address, exports[name] ?? runtime[name]);
  });
}

/** Instantiate a module at a place, and return the addresses of its imports. */
function instantiate(runtime, { module, base, table }) {
  const lookups = [];
  const imports = { env: {}, 'GOT.mem': {}, 'GOT.func': {} };
  const constant = (value) => new WebAssembly.Global({ value: 'i32', mutable: false }, value);
  const input = {
    memory: runtime.memory,
    __indirect_function_table: runtime.__indirect_function_table,
    __stack_pointer: runtime.__stack_pointer,
    __memory_base: constant(base),
    __table_base: constant(table),
  };
  const own = new Set(WebAssembly.Module.exports(module).map((item) => item.name));
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    if (from !== 'env') {
      const global = new WebAssembly.Global({ value: 'i32', mutable: true }, 0);
      lookups.push({ name, global, isFunction: from === 'GOT.func' });
      imports[from][name] = global;
    } else if (name in input) imports.env[name] = input[name];
    else if (name in runtime) imports.env[name] = runtime[name];
    // A weak function of its own, which another library might have replaced.
    else if (own.has(name)) imports.env[name] = (...values) => exports[name](...values);
    else throw new WebAssembly.LinkError(`nobody has ${name}, which the library takes from outside`);
  }
  const { exports } = new WebAssembly.Instance(module, imports);
  return { exports, lookups };
}
