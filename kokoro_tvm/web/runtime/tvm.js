/**
 * The TVM runtime, compiled to WebAssembly, by its C API (tvm/ffi/c_api.h): libraries, tensors and calls.
 *
 * Addresses are numbers up to 2^32. Views of memory are made at each use, because memory grows.
 */

import { BundleError } from '../errors.js';
import { memoryOf, sharing } from './binary.js';
import { NO_GPU } from './gpu.js';
import { Library } from './library.js';
import { newMemory } from './memory.js';
import { Threads } from './threads.js';
import { wasi } from './wasi.js';

const ANY = 16; // bytes of a TVMFFIAny: int32 type, 4 of padding, 8 of the value
const HEADER = 24; // of every object
const TENSOR = 48; // of a DLManagedTensor: 40 of its DLTensor, a context and a deleter
const TASKS = 4; // offset of the number of tasks in a TVMParallelGroupEnv
const ALIGNMENT = 64;
const CPU = 1;

/** TVMFFITypeIndex. */
const Type = { none: 0, int: 1, bool: 2, string: 8, object: 64, function: 68, tensor: 70, array: 71 };

/** Element types by name: [DLPack's code, bits, array]. */
const DTYPES = {
  float32: [2, 32, Float32Array],
  float16: [2, 16, Uint16Array], // as bits
  float64: [2, 64, Float64Array],
  int32: [0, 32, Int32Array],
  int64: [0, 64, BigInt64Array],
  uint32: [1, 32, Uint32Array],
  uint8: [1, 8, Uint8Array],
};
const NAMES = new Map(Object.entries(DTYPES).map(([name, [code, bits]]) => [`${code} ${bits}`, name]));

/** An error of TVM. kind: TVM's name of it, such as `ValueError`. */
export class TvmError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = 'TvmError';
    this.kind = kind;
  }
}

/** An array in the runtime's memory or in a GPU's, until it is freed. */
export class Tensor {
  constructor(tvm, handle, memory) {
    this.tvm = tvm;
    this.handle = handle;
    this.memory = memory; // what is freed with it; empty if TVM owns it
  }

  get #view() {
    const view = this.tvm.view;
    const at = this.handle + HEADER;
    const dimensions = view.getInt32(at + 12, true);
    const extents = view.getUint32(at + 20, true);
    const shape = Array.from({ length: dimensions }, (_, i) =>
      Number(view.getBigInt64(extents + 8 * i, true)),
    );
    const dtype = NAMES.get(`${view.getUint8(at + 16)} ${view.getUint8(at + 17)}`);
    const data = view.getUint32(at, true) + Number(view.getBigUint64(at + 32, true));
    return { data, shape, dtype };
  }

  get shape() {
    return this.#view.shape;
  }

  /** The address, or the number of a GPU's buffer. */
  get address() {
    return this.#view.data;
  }

  get dtype() {
    return this.#view.dtype;
  }

  /** Copy the values to an array of the element type. */
  values() {
    const { data, shape, dtype } = this.#view;
    const count = shape.reduce((product, extent) => product * extent, 1);
    const [, bits, Kind] = DTYPES[dtype];
    return new Kind(this.tvm.bytes.slice(data, data + (count * bits) / 8).buffer);
  }

  free() {
    if (this.handle) this.tvm.release(this.handle);
    for (const address of this.memory) this.tvm.api.free(address);
    this.handle = 0;
    this.memory = [];
  }
}

/** A function of TVM. */
class Function {
  constructor(tvm, handle) {
    this.tvm = tvm;
    this.handle = handle;
  }

  /**
   * Call it. The result is undefined, a number, an array of `Tensor` or an object's handle; the caller frees tensors.
   * Throws a TvmError.
   */
  call(...values) {
    return this.tvm.withArguments(values, (at) => {
      const out = at + ANY * values.length;
      this.tvm.bytes.fill(0, out, out + ANY);
      this.tvm.check(this.tvm.api.TVMFFIFunctionCall(this.handle, at, values.length, out));
      return this.tvm.result(out);
    });
  }
}

/** The runtime. */
export class Tvm {
  /**
   * @param {Uint8Array} bytes libtvm.wasm
   * @param {{log?: (line: string) => void, threads?: number, patience?: number, gpu?: import('./gpu.js').Gpu | null}} [options]
   *   threads: more than one need shared memory, and a caller that may wait; patience: see `Threads.start`; gpu: what
   *   computes the kernels of libraries that have some
   * @returns {Promise<Tvm>}
   */
  static async start(bytes, { log = (line) => console.warn(line), threads = 1, patience, gpu = null } = {}) {
    const tvm = new Tvm();
    const memory = memoryOf(bytes);
    if (!memory) throw new BundleError('libtvm.wasm is of another version. Build the bundle again.');
    const shared = threads > 1;
    tvm.memory = newMemory(memory, shared);
    const module = await tvm.compile(bytes);
    const host = {
      open_library: (name) => tvm.#names.get(tvm.text(name)) ?? 0,
      find_symbol: (library, name) => tvm.#libraries[library - 1].symbol(tvm.text(name)),
      launch: (...call) => tvm.#launch(...call),
    };
    const env = { memory: tvm.memory };
    const imports = { env, host, gpu: gpu?.imports(tvm) ?? NO_GPU, wasi_snapshot_preview1: wasi(() => tvm.memory, log) };
    const { exports } = await WebAssembly.instantiate(module, imports);
    tvm.api = { ...exports, memory: tvm.memory };
    if (shared) tvm.#threads = await Threads.start(threads, module, tvm.memory, { patience });
    exports._initialize();
    return tvm;
  }

  #names = new Map();
  #libraries = [];
  #functions = new Map();
  #threads = null;

  /** Number of threads that compute. */
  get threads() {
    return this.#threads?.count ?? 1;
  }

  /** End all threads but the caller's. */
  close() {
    this.#threads?.close();
  }

  get view() {
    return new DataView(this.memory.buffer);
  }

  get bytes() {
    return new Uint8Array(this.memory.buffer);
  }

  /** Compile a module that imports this runtime's memory. @param {Uint8Array} bytes */
  compile(bytes) {
    return WebAssembly.compile(this.memory.buffer instanceof ArrayBuffer ? bytes : sharing(bytes));
  }

  /** Load a compiled library and return its functions by name. A missing name throws a TvmError. */
  library(module) {
    return this.#functionsOf(this.#load(module));
  }

  /**
   * Return the functions of a library's virtual machine.
   * @param {WebAssembly.Module} module
   * @param {number[]} initialization what it is initialised with
   * @param {number | null} [kernels] that it launches
   */
  machine(module, initialization, kernels = null) {
    const loaded = this.#load(module);
    if (kernels !== null) this.global('kokoro.import_kernels').call(loaded, kernels);
    const machine = this.#functionsOf(this.#functionsOf(loaded)('vm_load_executable').call());
    machine('vm_initialization').call(...initialization);
    return machine;
  }

  #load(module) {
    const allocate = (size, alignment) => this.allocate(size, alignment);
    const loaded = new Library(module, this.api, allocate, (place) => this.#threads?.load(place));
    const name = `library-${this.#libraries.push(loaded)}`;
    this.#names.set(name, this.#libraries.length);
    return this.global('ffi.Module.load_from_file.so').call(name, 'wasm');
  }

  /** Return a function that TVM has registered. */
  global(name) {
    if (!this.#functions.has(name)) {
      const handle = this.withText(name, (text, size) =>
        this.#scratch(12, (at) => {
          this.view.setUint32(at, text, true);
          this.view.setUint32(at + 4, size, true);
          this.view.setUint32(at + 8, 0, true);
          this.check(this.api.TVMFFIFunctionGetGlobal(at, at + 8));
          return this.view.getUint32(at + 8, true);
        }),
      );
      if (!handle) throw new TvmError('AttributeError', `the TVM runtime has no function ${name}`);
      this.#functions.set(name, new Function(this, handle));
    }
    return this.#functions.get(name);
  }

  /**
   * Create a tensor with a copy of the values.
   * @param {ArrayBufferView} values
   * @param {number[]} shape
   * @param {string} dtype
   * @param {number} [address] where the values already lie, in place of `values`
   * @param {number} [device] whose memory that is, by DLPack's number
   */
  tensor(values, shape, dtype, address = 0, device = CPU) {
    const data = address || this.allocate(Math.max(values.byteLength, 1));
    if (!address) {
      const content = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      this.bytes.set(content, data);
    }
    const [code, bits] = DTYPES[dtype];
    const managed = this.allocate(TENSOR + 16 * shape.length);
    const view = this.view;
    this.bytes.fill(0, managed, managed + TENSOR);
    const extents = managed + TENSOR;
    const strides = extents + 8 * shape.length;
    const fields = [
      [0, data],
      [4, device],
      [12, shape.length],
      [16, code | (bits << 8) | (1 << 16)],
      [20, extents],
      [24, strides],
    ];
    for (const [offset, value] of fields) view.setUint32(managed + offset, value, true);
    let stride = 1;
    for (let i = shape.length - 1; i >= 0; stride *= shape[i--]) {
      view.setBigInt64(extents + 8 * i, BigInt(shape[i]), true);
      view.setBigInt64(strides + 8 * i, BigInt(stride), true);
    }
    const handle = this.#scratch(4, (at) => {
      this.check(this.api.TVMFFITensorFromDLPack(managed, 0, 1, at));
      return this.view.getUint32(at, true);
    });
    return new Tensor(this, handle, address ? [managed] : [managed, data]);
  }

  /** Allocate memory, which the caller frees unless it is aligned to more than 16 bytes. */
  allocate(size, alignment = ALIGNMENT) {
    const address = this.api.aligned_alloc(alignment, Math.ceil(size / alignment) * alignment) >>> 0;
    if (!address) throw new RangeError(`no memory for ${size} bytes`);
    return address;
  }

  release(handle) {
    this.api.TVMFFIObjectDecRef(handle);
  }

  /** Return the NUL-terminated text at an address. */
  text(address) {
    const bytes = this.bytes;
    return new TextDecoder().decode(bytes.slice(address >>> 0, bytes.indexOf(0, address >>> 0)));
  }

  /** Throw TVM's error unless the status is 0. */
  check(status) {
    if (status === 0) return;
    throw this.#scratch(4, (at) => {
      this.api.TVMFFIErrorMoveFromRaised(at);
      const handle = this.view.getUint32(at, true);
      if (!handle) return new TvmError('Error', 'an error without a message');
      const word = (offset) => {
        const start = this.view.getUint32(handle + HEADER + offset, true);
        const size = this.view.getUint32(handle + HEADER + offset + 4, true);
        return new TextDecoder().decode(this.bytes.slice(start, start + size));
      };
      const error = new TvmError(word(0), word(8));
      this.release(handle);
      return error;
    });
  }

  /** Pass values as TVM takes them, with room for a result after them, to `use`. */
  withArguments(values, use) {
    const texts = [];
    try {
      return this.#scratch(ANY * (values.length + 1), (at) => {
        values.forEach((value, index) => {
          const place = at + ANY * index;
          this.bytes.fill(0, place, place + ANY);
          const set = (type, content) => {
            this.view.setInt32(place, type, true);
            this.view.setBigInt64(place + 8, BigInt(content), true);
          };
          if (typeof value === 'string') {
            texts.push(this.#copyText(value)[0]);
            set(Type.string, texts.at(-1));
          } else if (typeof value === 'boolean') set(Type.bool, value ? 1 : 0);
          else if (typeof value === 'number') set(Type.int, value);
          else if (value instanceof Tensor) set(Type.tensor, value.handle);
          else set(value.type, value.handle);
        });
        return use(at);
      });
    } finally {
      texts.forEach((address) => this.api.free(address));
    }
  }

  /** Convert a result to JavaScript. */
  result(at) {
    const type = this.view.getInt32(at, true);
    const handle = this.view.getUint32(at + 8, true);
    if (type === Type.none) return undefined;
    if (type < Type.object) return Number(this.view.getBigInt64(at + 8, true));
    if (type === Type.function) return new Function(this, handle);
    if (type === Type.tensor) return [new Tensor(this, handle, [])];
    if (type !== Type.array) return { type, handle };
    const items = this.view.getUint32(handle + HEADER, true);
    const count = Number(this.view.getBigInt64(handle + HEADER + 8, true));
    const tensors = Array.from({ length: count }, (_, i) => {
      const item = this.view.getUint32(items + ANY * i + 8, true);
      this.api.TVMFFIObjectIncRef(item);
      return new Tensor(this, item, []);
    });
    this.release(handle);
    return tensors;
  }

  withText(text, use) {
    const [address, size] = this.#copyText(text);
    try {
      return use(address, size);
    } finally {
      this.api.free(address);
    }
  }

  /** Run a parallel call of compiled code. group: a TVMParallelGroupEnv without its number of tasks. */
  #launch(run, group, data) {
    this.view.setInt32(group + TASKS, this.threads, true);
    const table = this.api.__indirect_function_table;
    return this.#threads ? this.#threads.launch(table, run, group, data) : table.get(run)(0, group, data);
  }

  #functionsOf(module) {
    const known = new Map();
    return (name) => {
      if (!known.has(name)) {
        const match = this.global('ffi.ModuleGetFunction').call(module, name, true);
        if (!match) throw new TvmError('AttributeError', `the library has no function ${name}`);
        known.set(name, match);
      }
      return known.get(name);
    };
  }

  #copyText(text) {
    const bytes = new TextEncoder().encode(text);
    const address = this.allocate(bytes.length + 1);
    this.bytes.set(bytes, address);
    this.bytes[address + bytes.length] = 0;
    return [address, bytes.length];
  }

  #scratch(size, use) {
    const address = this.allocate(size);
    try {
      return use(address);
    } finally {
      this.api.free(address);
    }
  }
}
