/** A bundle's components in WebAssembly and on a GPU: files that are compared with the manifest, weights, calls. */

import { UnsupportedError } from '../errors.js';
import { Host, OnGpu } from './device.js';
import { features } from './features.js';
import { whole } from './folder.js';
import { checkManifest } from './manifest.js';
import { Tvm } from './tvm.js';
import { grown, sizeOf } from './weights.js';

/** Arrays of a port's dtype. */
const ARRAYS = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array, uint32: Uint32Array };

/** Tokens or frames of the first call, which nobody hears: as few as run every loop of the code. */
const LEAST = 8;

/**
 * What a component takes and returns: values in row-major order, or what a GPU has of them.
 * @typedef {{values: Float32Array | BigInt64Array | Int32Array | Uint32Array, shape: number[], tensor?: undefined}
 *   | {values?: undefined, shape: number[], tensor: import('./tvm.js').Tensor}} Values
 */

/** A bundle whose components can be called. */
export class Bundle {
  /**
   * Loads all components. Throws BundleError for a file that is not the one that the manifest names and another
   * layout, UnsupportedError where this engine's WebAssembly lacks what the code uses, MemoryError.
   * @param {import('./folder.js').Folder} folder
   * @param {{log?: (line: string) => void, threads?: number, pieces?: import('./pieces.js').Pieces | null,
   *   gpu?: import('./gpu.js').Gpu | null}} [options] log: lines that the TVM runtime prints; threads: see `Tvm.start`;
   *   pieces: where all files but the manifest are, if they are in pieces; gpu: for a bundle whose components compute on one
   */
  static async open(folder, options = {}) {
    const manifest = await folder.json('bundle.json');
    checkManifest(manifest);
    checkFeatures(manifest.cpu_features);
    const bundle = new Bundle(options.pieces ?? folder, manifest);
    bundle.#tvm = await Tvm.start(await bundle.file(manifest.runtime), options);
    bundle.#host = new Host(bundle.#tvm);
    bundle.#gpu = options.gpu ? new OnGpu(bundle.#tvm, options.gpu) : null;
    try {
      const components = Object.entries(manifest.components);
      for (const each of components) await bundle.#loadCode(...each);
      const room = bundle.#warmUp();
      for (const each of components) await bundle.#loadWeights(...each, room);
    } catch (error) {
      bundle.close();
      throw error;
    }
    return bundle;
  }

  #files;
  #tvm;
  #host;
  /** @type {OnGpu | null} */
  #gpu = null;
  #loaded = new Map();

  /** @param {import('./folder.js').Folder | import('./pieces.js').Pieces} files */
  constructor(files, manifest) {
    this.#files = files;
    this.manifest = manifest;
  }

  /** A file's bytes, if they are those that the manifest names; else throws BundleError.
   * @param {{file: string, size: number, sha256: string}} entry
   */
  file(entry) {
    return whole(this.#files, entry);
  }

  /** Some of a file's bytes, see `file`; of one in pieces, no others are loaded that are pieces of their own.
   * @param {{file: string, size: number, sha256: string}} entry @param {number} begin @param {number} end */
  range(entry, begin, end) {
    return this.#files.range(entry, begin, end);
  }

  /** Once all files are read: gives up what reading them takes. */
  settle() {
    this.#files.settle?.();
  }

  /** Bytes of the runtime's memory, with weights and code's data. */
  get memory() {
    return this.#tvm.memory.buffer.byteLength;
  }

  /** How many threads compute. */
  get threads() {
    return this.#tvm.threads;
  }

  /** Ends all threads but the caller's, and gives up the GPU; no component can be called any more. */
  close() {
    this.#tvm.close();
    this.#gpu?.gpu.close();
  }

  /** The longest utterance on an axis, `tokens` or `frames`, that every component takes. */
  largest(axis) {
    const components = Object.values(this.manifest.components).filter((each) => each.axis === axis);
    return Math.min(...components.map(({ libraries }) => Math.max(...libraries.map(({ bucket }) => bucket))));
  }

  /**
   * What a component returns for inputs of a length on its axis, without padding. What a GPU computes is queued, its outputs
   * are the caller's to `release`.
   * @param {string} entry a component's name, or `decoder_seeded`
   * @param {number} length
   * @param {...Values} inputs in the order of its signature
   * @returns {Values[]}
   */
  run(entry, length, ...inputs) {
    const { component, device, machines, parameters } = this.#loaded.get(entry.replace(/_seeded$/, ''));
    const signature = entry.endsWith('_seeded') ? component.seeded : component;
    const machine = machines.find(({ bucket }) => length <= bucket);
    if (!machine) {
      throw new RangeError(`${length} ${component.axis} are more than the largest bucket of ${entry} takes`);
    }
    const tensors = signature.inputs.map(({ name, dtype }, index) => {
      const { values, tensor } = inputs[index];
      const fits = tensor ? tensor.dtype === dtype : values instanceof ARRAYS[dtype];
      if (!fits) throw new TypeError(`input ${index} of ${entry} is no ${dtype}`);
      return device.input(`${entry} ${name}`, inputs[index], dtype);
    });
    try {
      this.#tvm.global('vm.builtin.memory_manager.clear').call(); // it keeps blocks of one size alone
      const results = machine.functions(signature.function).call(...tensors, ...parameters);
      return results.map((tensor) => device.output(tensor));
    } finally {
      const taken = new Set(inputs.map(({ tensor }) => tensor)); // which their owner frees
      tensors.filter((tensor) => !taken.has(tensor)).forEach((tensor) => tensor.free());
    }
  }

  /** The values of an output, wherever they are. @param {Values} output @returns {Promise<Float32Array>} rejected with a
   * GpuError where the GPU fails */
  async read(output) {
    return /** @type {Float32Array} */ (output.values ?? (await this.#gpu?.read(output)));
  }

  /** @param {...Values} outputs that nobody needs any more */
  release(...outputs) {
    outputs.forEach(({ tensor }) => tensor?.free());
  }

  async #loadCode(name, component) {
    const onGpu = component.libraries.some(({ kernels }) => kernels);
    if (onGpu && !this.#gpu) throw new UnsupportedError(`${name} of this bundle computes on a GPU, and none was opened.`);
    const device = onGpu ? this.#gpu : this.#host;
    const libraries = [...component.libraries].sort((a, b) => a.bucket - b.bucket);
    const machines = [];
    for (const library of libraries) {
      const module = await this.#tvm.compile(await this.file(library));
      const kernels = library.kernels ? await device.kernels(await this.file(library.kernels)) : null;
      machines.push({ bucket: library.bucket, functions: this.#tvm.machine(module, device.initialization, kernels) });
    }
    this.#loaded.set(name, { component, device, machines, parameters: [] });
  }

  async #loadWeights(name, component, room) {
    const loaded = this.#loaded.get(name);
    const ofName = room?.name === name ? room : null;
    loaded.parameters = await loaded.device.parameters(component, this.#files.parts(component.weights), ofName);
  }

  /** Runs every component of WebAssembly on zeros. An engine's first code of a loop is several times slower than what it
   * makes of one that it has seen running, and a call that has begun ends in the first: so it makes the other while weights
   * are loaded. Returns the zeros' memory, and the name of the component whose weights fit there; null where there is none. */
  #warmUp() {
    const here = [...this.#loaded].filter(([, { device }]) => device === this.#host);
    if (!here.length) return null;
    const sizes = here.map(([, { component }]) => component.parameters.map(sizeOf));
    const sums = sizes.map((each) => each.reduce((sum, size) => sum + size, 0));
    const size = Math.max(Math.min(...sums), ...sizes.flat());
    const start = grown(this.#tvm.memory, size, 'a first call'); // every parameter is read there
    for (const [name, each] of here) {
      const { seeded } = each.component;
      each.parameters = this.#host.tensors(each.component, () => start);
      const inputs = (seeded ?? each.component).inputs.map(({ dtype, shape }) => {
        const extents = shape.map(extent);
        return { values: new ARRAYS[dtype](product(extents)), shape: extents };
      });
      this.run(seeded ? `${name}_seeded` : name, LEAST, ...inputs);
      each.parameters.forEach((tensor) => tensor.free());
    }
    return { start, size, name: here[sums.indexOf(Math.min(...sums))][0] };
  }
}

const product = (shape) => shape.reduce((all, each) => all * each, 1);

/** An extent of a signature, as 512, "F" or "2*F", at the least length. @param {number | string} each */
function extent(each) {
  if (typeof each === 'number') return each;
  const [factor, axis] = each.split('*');
  return axis ? Number(factor) * LEAST : LEAST;
}

/** Throw an UnsupportedError if this engine lacks a feature. @param {string[]} needed */
function checkFeatures(needed) {
  const available = features();
  const lacking = needed.filter((name) => !available.includes(name));
  if (lacking.length) throw new UnsupportedError(`Its WebAssembly lacks ${lacking.join(', ')}.`);
}
