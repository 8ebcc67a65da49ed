/**
 * Memory of a component's tensors: WebAssembly's or a GPU's, as in `kokoro_tvm/runtime/session/device.py`.
 *
 * A GPU gets each input in memory of its own. Outputs of components stay there until they are read.
 */

import { readKernels } from './kernels.js';
import { loadWeights, tensors } from './weights.js';

const CPU = 1; // DLPack's numbers
const WEBGPU = 15;
const POOLED = 2; // allocator of the virtual machine
const WORD = 4; // bytes of every element on a GPU

/** @typedef {import('./bundle.js').Values} Values */
/** @typedef {import('./tvm.js').Tensor} Tensor */

/** WebAssembly's memory. */
export class Host {
  initialization = [CPU, 0, POOLED];

  /** @param {import('./tvm.js').Tvm} tvm */
  constructor(tvm) {
    this.tvm = tvm;
  }

  /**
   * Load the weights of a component as tensors.
   * @param {any} component
   * @param {AsyncIterable<Uint8Array>} parts of its file
   * @param {{start: number, size: number} | null} room memory that they may take, where it is large enough
   * @returns {Promise<Tensor[]>}
   */
  async parameters(component, parts, room) {
    const addresses = await loadWeights(this.tvm.memory, component, parts, room);
    return this.tensors(component, (index) => addresses[index]);
  }

  /** @param {any} component @param {(index: number) => number} address of each of its weights @returns {Tensor[]} */
  tensors({ parameters }, address) {
    return parameters.map(({ shape, dtype }, index) => this.tvm.tensor(null, shape, dtype, address(index)));
  }

  /** @param {string} key @param {Values} given @param {string} dtype @returns {Tensor} the caller's to free */
  input(key, { values, shape }, dtype) {
    return this.tvm.tensor(values, shape, dtype);
  }

  /** @param {Tensor} tensor which is this method's to free @returns {Values} */
  output(tensor) {
    const result = { values: tensor.values(), shape: tensor.shape };
    tensor.free();
    return result;
  }
}

/** A GPU's memory. */
export class OnGpu {
  initialization = [WEBGPU, 0, POOLED, CPU, 0, POOLED];
  /** @type {Map<string, {number: number, size: number}>} memory of inputs, by component and port */
  #inputs = new Map();

  /** @param {import('./tvm.js').Tvm} tvm @param {import('./gpu.js').Gpu} gpu */
  constructor(tvm, gpu) {
    this.tvm = tvm;
    this.gpu = gpu;
  }

  /**
   * Compile kernels of a library and return the number to import them by.
   * @param {Uint8Array} bytes
   * @returns {Promise<number>}
   */
  kernels(bytes) {
    return this.gpu.compile(readKernels(bytes));
  }

  /** See `Host.parameters`: each weight goes to the GPU as soon as it is complete. */
  async parameters(component, parts) {
    const numbers = new Map();
    for await (const { name, size, fill } of tensors(component, parts)) {
      numbers.set(name, this.gpu.filled(size, (room) => fill(room, 0)));
    }
    return component.parameters.map(({ name, shape, dtype }) => this.tvm.tensor(null, shape, dtype, numbers.get(name), WEBGPU));
  }

  /** See `Host.input`: the output of another component is used in place. */
  input(key, { values, shape, tensor }, dtype) {
    if (tensor) return tensor;
    const available = this.#inputs.get(key);
    if (available && available.size < values.byteLength) this.gpu.release(available.number);
    if (!available || available.size < values.byteLength) {
      this.#inputs.set(key, { number: this.gpu.allocate(values.byteLength), size: values.byteLength });
    }
    const { number } = this.#inputs.get(key);
    this.gpu.write(number, values);
    return this.tvm.tensor(null, shape, dtype, number, WEBGPU);
  }

  /** @param {Tensor} tensor @returns {Values} */
  output(tensor) {
    return { tensor, shape: tensor.shape };
  }

  /**
   * Return the values of an output once they are computed.
   * @param {Values} output
   * @returns {Promise<Float32Array>}
   */
  async read({ tensor, shape }) {
    const count = shape.reduce((product, extent) => product * extent, 1);
    return new Float32Array(await this.gpu.read(tensor.address, WORD * count));
  }
}
