/** Components of a bundle in WebAssembly and on a GPU: verified files, weights, calls. */

import { UnsupportedError } from '../errors.js';
import { Host, OnGpu } from './device.js';
import { features } from './features.js';
import { whole } from './folder.js';
import { checkManifest } from './manifest.js';
import { Tvm } from './tvm.js';
import { grown, sizeOf } from './weights.js';

/** Arrays by dtype of a port. */
const ARRAYS = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array, uint32: Uint32Array };

/** Tokens or frames of the first call, whose result is dropped: as few as execute every loop. */
const LEAST = 8;

/**
 * Input or output of a component: values in row-major order, or a tensor on a GPU.
 * @typedef {{values: Float32Array | BigInt64Array | Int32Array | Uint32Array, shape: number[], tensor?: undefined} |
 *   {values?: undefined, shape: number[], tensor: import('./tvm.js').Tensor}} Values
 */

/** A bundle whose components can be called. */
export class Bundle {
  /**
   * Load all components. Throws a BundleError for an invalid manifest or a file that differs from it, an
   * UnsupportedError if this engine lacks a feature of WebAssembly, or a MemoryError.
   * @param {import('./folder.js').Folder} folder
   * @param {{log?: (line: string) => void, threads?: number, pieces?: import('./pieces.js').Pieces | null, gpu?:
   *   import('./gpu.js').Gpu | null}} [options] log: lines that the TVM runtime prints; threads: see `Tvm.start`;
   *   pieces: where all files but the manifest are, if they are in pieces; gpu: for a bundle whose components compute
   *   on one
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
      for (const item of components) await bundle.#loadCode(...item);
      const room = bundle.#warmUp();
      for (const item of components) await bundle.#loadWeights(...item, room);
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

  /**
   * Return a file's verified bytes. Throws a BundleError if they differ from the manifest.
   * @param {{file: string, size: number, sha256: string}} entry
   */
  file(entry) {
    return whole(this.#files, entry);
  }

  /**
   * Return a range of a file, see `file`. Of a file in pieces, only the necessary pieces are loaded.
   * @param {{file: string, size: number, sha256: string}} entry
   * @param {number} begin
   * @param {number} end
   */
  range(entry, begin, end) {
    return this.#files.range(entry, begin, end);
  }

  /** Free the memory of reading, once all files are read. */
  settle() {
    this.#files.settle?.();
  }

  /** Bytes of the runtime's memory, including weights and data of the code. */
  get memory() {
    return this.#tvm.memory.buffer.byteLength;
  }

  /** Number of threads that compute. */
  get threads() {
    return this.#tvm.threads;
  }

  /** End all threads but the caller's and release the GPU. No component can be called any more. */
  close() {
    this.#tvm.close();
    this.#gpu?.gpu.close();
  }

  /** Return the longest utterance on an axis, `tokens` or `frames`, that all components accept. */
  largest(axis) {
    const components = Object.values(this.manifest.components).filter((item) => item.axis === axis);
    return Math.min(...components.map(({ libraries }) => Math.max(...libraries.map(({ bucket }) => bucket))));
  }

  /**
   * Run a component on inputs of a length on its axis, without padding. A GPU's work is queued, and the caller has to
   * `release` its outputs.
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
      this.#tvm.global('vm.builtin.memory_manager.clear').call(); // it reuses blocks of equal size only
      const results = machine.functions(signature.function).call(...tensors, ...parameters);
      return results.map((tensor) => device.output(tensor));
    } finally {
      const removed = new Set(inputs.map(({ tensor }) => tensor)); // the owner frees them
      tensors.filter((tensor) => !removed.has(tensor)).forEach((tensor) => tensor.free());
    }
  }

  /**
   * Return the values of an output on any device.
   * @param {Values} output
   * @returns {Promise<Float32Array>} rejected with a GpuError where the GPU fails
   */
  async read(output) {
    return /** @type {Float32Array} */ (output.values ?? (await this.#gpu?.read(output)));
  }

  /** Free outputs. @param {...Values} outputs that nobody needs any more */
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

  /**
   * Run every WebAssembly component once on zeros. An engine's first code for a loop is several times slower than its
   * optimized code, and a running call keeps the first code. So optimization happens while weights are loaded. Return
   * the memory of the zeros and the component whose weights fit there, or null.
   */
  #warmUp() {
    const here = [...this.#loaded].filter(([, { device }]) => device === this.#host);
    if (!here.length) return null;
    const sizes = here.map(([, { component }]) => component.parameters.map(sizeOf));
    const sums = sizes.map((item) => item.reduce((sum, size) => sum + size, 0));
    const size = Math.max(Math.min(...sums), ...sizes.flat());
    const start = grown(this.#tvm.memory, size, 'a first call'); // every parameter is read there
    for (const [name, item] of here) {
      const { seeded } = item.component;
      item.parameters = this.#host.tensors(item.component, () => start);
      const inputs = (seeded ?? item.component).inputs.map(({ dtype, shape }) => {
        const extents = shape.map(extent);
        return { values: new ARRAYS[dtype](product(extents)), shape: extents };
      });
      this.run(seeded ? `${name}_seeded` : name, LEAST, ...inputs);
      item.parameters.forEach((tensor) => tensor.free());
    }
    return { start, size, name: here[sums.indexOf(Math.min(...sums))][0] };
  }
}

const product = (shape) => shape.reduce((all, item) => all * item, 1);

/** Return an extent such as 512, "F" or "2*F" at the smallest length. @param {number | string} item */
function extent(item) {
  if (typeof item === 'number') return item;
  const [factor, axis] = item.split('*');
  return axis ? Number(factor) * LEAST : LEAST;
}

/** Throw an UnsupportedError if this engine lacks a feature. @param {string[]} needed */
function checkFeatures(needed) {
  const available = features();
  const lacking = needed.filter((name) => !available.includes(name));
  if (lacking.length) throw new UnsupportedError(`Its WebAssembly lacks ${lacking.join(', ')}.`);
}
