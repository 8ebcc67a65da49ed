/** Where a component's tensors lie: in WebAssembly's memory, or in a GPU's, as `kokoro_tvm/runtime/session/device.py` has it.
 *
 * A GPU is given each input in memory of its own; what a component computes stays there until somebody reads it.
 */

import { BundleError } from '../errors.js';
import { widen } from './half.js';
import { readKernels } from './kernels.js';
import { layoutOf, loadWeights } from './weights.js';

const CPU = 1; // DLPack's numbers
const WEBGPU = 15;
const POOLED = 2; // how the virtual machine allocates
const WORD = 4; // bytes of every element that a GPU takes

/** @typedef {import('./bundle.js').Values} Values */
/** @typedef {import('./tvm.js').Tensor} Tensor */

/** WebAssembly's memory. */
export class Host {
  initialization = [CPU, 0, POOLED];

  /** @param {import('./tvm.js').Tvm} tvm */
  constructor(tvm) {
    this.tvm = tvm;
  }

  /** A component's weights as tensors. @param {any} component @param {AsyncIterable<Uint8Array>} parts of its file
   * @param {{start: number, size: number} | null} room memory that they may take, where it is large enough
   * @returns {Promise<Tensor[]>} */
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
    const found = { values: tensor.values(), shape: tensor.shape };
    tensor.free();
    return found;
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

  /** Kernels that a library launches; the number to import them by. @param {Uint8Array} bytes @returns {Promise<number>} */
  kernels(bytes) {
    return this.gpu.compile(readKernels(bytes));
  }

  /** See `Host.parameters`: each goes to the GPU as soon as its last byte has come. */
  async parameters({ parameters, weights: { file, size } }, parts) {
    const numbers = new Map();
    for await (const { name, isHalf, bytes } of tensors(parts, parameters, file, size)) {
      const fill = (room) => {
        if (isHalf) widen(bytes, new Float32Array(room));
        else new Uint8Array(room).set(bytes);
      };
      numbers.set(name, this.gpu.filled(isHalf ? 2 * bytes.length : bytes.length, fill));
    }
    return parameters.map(({ name, shape, dtype }) => this.tvm.tensor(null, shape, dtype, numbers.get(name), WEBGPU));
  }

  /** See `Host.input`: what another component gave is taken as it lies. */
  input(key, { values, shape, tensor }, dtype) {
    if (tensor) return tensor;
    const there = this.#inputs.get(key);
    if (there && there.size < values.byteLength) this.gpu.release(there.number);
    if (!there || there.size < values.byteLength) {
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

  /** The values of an output, once they are computed. @param {Values} output @returns {Promise<Float32Array>} */
  async read({ tensor, shape }) {
    const count = shape.reduce((product, extent) => product * extent, 1);
    return new Float32Array(await this.gpu.read(tensor.address, WORD * count));
  }
}

/** The tensors of a safetensors file that comes in parts, those of the parameters alone. */
async function* tensors(parts, parameters, file, size) {
  let head = new Uint8Array(0);
  let layout = null;
  let at = 0; // of the next byte, behind the header
  let place = 0; // of the tensor that is filled
  let bytes = null;
  for await (const part of parts) {
    let left = part;
    if (!layout) {
      const joined = new Uint8Array(head.length + part.length);
      joined.set(head);
      joined.set(part, head.length);
      layout = layoutOf(joined, parameters, file, size);
      if (!layout) {
        head = joined;
        continue;
      }
      left = joined.subarray(layout.header);
    }
    while (place < layout.tensors.length) {
      const { name, begin, end, isHalf } = layout.tensors[place];
      bytes ??= new Uint8Array(end - begin);
      const skipped = Math.max(0, begin - at);
      const taken = left.subarray(skipped, Math.max(skipped, end - at));
      bytes.set(taken, Math.max(0, at - begin));
      if (end > at + left.length) break;
      yield { name, isHalf, bytes };
      bytes = null;
      place += 1;
    }
    at += left.length;
  }
  if (!layout || place < layout.tensors.length) throw new BundleError(`${file} is cut short. Load the bundle again.`);
}
