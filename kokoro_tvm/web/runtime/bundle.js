/** A bundle's components in WebAssembly: files that are compared with the manifest, weights, calls. */

import { BundleError, MemoryError, UnsupportedError } from '../errors.js';
import { features } from './features.js';
import { widen } from './half.js';
import { Tvm } from './tvm.js';

const SCHEMA = 5; // of bundle.json that this version reads
const PAGE = 65536; // of memory
const HALF = 'F16'; // safetensors' word for what a file may have in the place of float32
/** Arrays of a port's dtype, and safetensors' word for it. */
const ARRAYS = {
  float32: [Float32Array, 'F32'],
  int64: [BigInt64Array, 'I64'],
  int32: [Int32Array, 'I32'],
  uint32: [Uint32Array, 'U32'],
};

/**
 * What a component takes and returns: values in row-major order.
 * @typedef {{values: Float32Array | BigInt64Array | Int32Array | Uint32Array, shape: number[]}} Values
 */

/**
 * Where a bundle's files are: the whole file of a name.
 * @typedef {(name: string) => Promise<Uint8Array>} Read
 */

/** Files below an address, which ends in a slash. @param {string | URL} base @returns {Read} */
export function fetched(base) {
  return async (name) => {
    const response = await fetch(new URL(name, base));
    if (!response.ok) throw new BundleError(`${name} cannot be had: the server answers ${response.status}.`);
    return new Uint8Array(await response.arrayBuffer());
  };
}

/** A bundle whose components can be called. */
export class Bundle {
  /**
   * Loads all components. Throws BundleError for a file that is not the one that the manifest names and another
   * layout, UnsupportedError where this engine's WebAssembly lacks what the code uses, MemoryError.
   * @param {Read} read
   * @param {{log?: (line: string) => void, threads?: number, pieces?: import('./pieces.js').Pieces | null}} [options]
   *   log: lines that the TVM runtime prints; threads: see `Tvm.start`; pieces: where all files but the manifest are,
   *   if they are in pieces
   */
  static async open(read, options = {}) {
    const manifest = JSON.parse(new TextDecoder().decode(await read('bundle.json')));
    refuse(manifest);
    const bundle = new Bundle(read, manifest, options.pieces ?? null);
    bundle.#tvm = await Tvm.start(await bundle.file(manifest.runtime), options);
    try {
      for (const [name, component] of Object.entries(manifest.components)) {
        await bundle.#load(name, component);
      }
    } catch (error) {
      bundle.close();
      throw error;
    }
    return bundle;
  }

  #read;
  #pieces;
  #tvm;
  #loaded = new Map();

  constructor(read, manifest, pieces) {
    this.#read = read;
    this.#pieces = pieces;
    this.manifest = manifest;
  }

  /** A file's bytes, if they are those that the manifest names; else throws BundleError.
   * @param {{file: string, size: number, sha256: string}} entry
   */
  async file(entry) {
    if (this.#pieces) return this.#pieces.read(entry);
    const { file, size, sha256 } = entry;
    const bytes = await this.#read(file);
    const digest = hex(await crypto.subtle.digest('SHA-256', bytes));
    if (bytes.length !== size || digest !== sha256) {
      throw new BundleError(
        `${file} has ${bytes.length} bytes with sha256 ${digest}; the manifest names ${size} and ${sha256}. ` +
          'Load the bundle again.',
      );
    }
    return bytes;
  }

  /** Bytes of the runtime's memory, with weights and code's data. */
  get memory() {
    return this.#tvm.memory.buffer.byteLength;
  }

  /** How many threads compute. */
  get threads() {
    return this.#tvm.threads;
  }

  /** Ends all threads but the caller's; no component can be called any more. */
  close() {
    this.#tvm.close();
  }

  /** The longest utterance on an axis, `tokens` or `frames`, that every component takes. */
  largest(axis) {
    const components = Object.values(this.manifest.components).filter((each) => each.axis === axis);
    return Math.min(...components.map(({ libraries }) => Math.max(...libraries.map(({ bucket }) => bucket))));
  }

  /**
   * What a component returns for inputs of a length on its axis, without padding.
   * @param {string} entry a component's name, or `decoder_seeded`
   * @param {number} length
   * @param {...Values} inputs in the order of its signature
   * @returns {Values[]}
   */
  run(entry, length, ...inputs) {
    const { component, machines, parameters } = this.#loaded.get(entry.replace(/_seeded$/, ''));
    const signature = entry.endsWith('_seeded') ? component.seeded : component;
    const machine = machines.find(({ bucket }) => length <= bucket);
    if (!machine) {
      throw new RangeError(`${length} ${component.axis} are more than the largest bucket of ${entry} takes`);
    }
    const tensors = signature.inputs.map(({ dtype }, index) => {
      const { values, shape } = inputs[index];
      if (!(values instanceof ARRAYS[dtype][0])) throw new TypeError(`input ${index} of ${entry} is no ${dtype}`);
      return this.#tvm.tensor(values, shape, dtype);
    });
    try {
      this.#tvm.global('vm.builtin.memory_manager.clear').call(); // it keeps blocks of one size alone
      const results = machine.functions(signature.function).call(...tensors, ...parameters);
      const found = results.map((tensor) => ({ values: tensor.values(), shape: tensor.shape }));
      results.forEach((tensor) => tensor.free());
      return found;
    } finally {
      tensors.forEach((tensor) => tensor.free());
    }
  }

  async #load(name, component) {
    const parameters = this.#weights(component, await this.file(component.weights));
    const libraries = [...component.libraries].sort((a, b) => a.bucket - b.bucket);
    const machines = [];
    for (const library of libraries) {
      const module = await this.#tvm.compile(await this.file(library));
      machines.push({ bucket: library.bucket, functions: this.#tvm.machine(module) });
    }
    this.#loaded.set(name, { component, machines, parameters });
  }

  /** The weights in the runtime's memory, where they stay, as tensors in the order of the signature. */
  #weights({ parameters, weights }, bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const start = 8 + Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
    const stored = parameters.map(({ name, dtype }) => {
      const entry = header[name];
      const isHalf = dtype === 'float32' && entry?.dtype === HALF;
      if (entry?.dtype !== ARRAYS[dtype][1] && !isHalf) {
        throw new BundleError(`${weights.file} has no ${name} of ${dtype}. Build the bundle again.`);
      }
      const [begin, end] = entry.data_offsets.map((offset) => offset + start);
      return { begin, end, isHalf, size: (end - begin) * (isHalf ? 2 : 1) };
    });
    const { memory } = this.#tvm;
    let place = grown(memory, stored.reduce((sum, { size }) => sum + size, 0), weights.file);
    return stored.map(({ begin, end, isHalf, size }, index) => {
      const at = place;
      place += size;
      const content = bytes.subarray(begin, end);
      if (isHalf) widen(content, new Float32Array(memory.buffer, at, size / 4));
      else new Uint8Array(memory.buffer, at, size).set(content);
      return this.#tvm.tensor(null, parameters[index].shape, parameters[index].dtype, at);
    });
  }
}

/** Where memory for so many bytes begins, which is there from now on. */
function grown(memory, size, file) {
  try {
    return memory.grow(Math.ceil(size / PAGE)) * PAGE;
  } catch (error) {
    throw new MemoryError(`The browser gives no ${size} bytes for ${file}.`, { cause: error });
  }
}

function refuse({ schema, length, cpu_features: needed }) {
  if (schema !== SCHEMA) {
    throw new BundleError(`bundle.json has schema ${schema}; this version reads ${SCHEMA}. Build the bundle again.`);
  }
  if (length !== 'exact') throw new BundleError(`the bundle has ${length} lengths; exact ones are read alone`);
  const there = features();
  const lacking = needed.filter((name) => !there.includes(name));
  if (lacking.length) {
    throw new UnsupportedError(`Its WebAssembly lacks ${lacking.join(', ')}.`);
  }
}

const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
