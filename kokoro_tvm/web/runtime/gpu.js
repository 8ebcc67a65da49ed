/**
 * A GPU by WebGPU: memory, and kernels that compiled code launches.
 *
 * Requests of the runtime are queued, and nothing waits until something is read. Memory consists of buffers, each with
 * a number that compiled code uses as its address (kokoro_tvm/native/libtvm/platform/webgpu.cc).
 */

import { Code, folded } from './kernels.js';

const BUFFERS = 10; // maximum per kernel: kokoro_tvm/kernels/gpu
const GREATEST = ['maxBufferSize', 'maxStorageBufferBindingSize']; // limits of the GPU: an utterance's buffers are large
const LAUNCHES = 32; // submitted together, so that a browser's watchdog does not wait for a whole utterance
const SLOT = 256; // bytes between the scalars of two launches, which WebGPU requires
const STEP = 64; // between numbers of buffers: TVM requires aligned data
const ANY = 16; // bytes of a TVMFFIAny; the value is in the second half
const FILTERS = /** @type {const} */ (['validation', 'out-of-memory', 'internal']);

/** Reason why a GPU does not compute speech here; the message is a sentence. */
export class GpuError extends Error {
  name = 'GpuError';
}

/** Imports of a runtime without a GPU. */
export const NO_GPU = Object.fromEntries(
  ['allocate', 'release', 'find_kernel', 'launch_kernel'].map((name) => [name, () => refuse(name)]),
);

/** @returns {never} */
function refuse(name) {
  throw new GpuError(`Code for a GPU called ${name}, and none was opened.`);
}

/** The browser's GPU, opened for one runtime. */
export class Gpu {
  /**
   * Open the GPU. Rejected with a GpuError if none can run the kernels.
   * @param {{float16?: boolean, software?: boolean}} [options] float16: whether kernels store it; software: whether a
   *   CPU may stand in for the GPU, which is slower than WebAssembly
   * @returns {Promise<Gpu>}
   */
  static async open({ float16 = false, software = false } = {}) {
    const adapter = await found();
    if (!software && isSoftware(adapter)) throw new GpuError('The browser has no GPU, only a program in the place of one.');
    const { limits, features } = adapter;
    if (limits.maxStorageBuffersPerShaderStage < BUFFERS) {
      const had = limits.maxStorageBuffersPerShaderStage;
      throw new GpuError(`The GPU gives a kernel ${had} buffers, and ${BUFFERS} are needed.`);
    }
    if (float16 && !features.has('shader-f16')) throw new GpuError('The GPU does not know float16.');
    const requiredLimits = { maxStorageBuffersPerShaderStage: BUFFERS };
    for (const name of GREATEST) requiredLimits[name] = limits[name];
    const requiredFeatures = /** @type {GPUFeatureName[]} */ (float16 ? ['shader-f16'] : []);
    return new Gpu(await opened(adapter, { requiredLimits, requiredFeatures }));
  }

  #device;
  /** @type {any} */
  #tvm;
  /** @type {GpuError | null} */
  #failure = null;
  #buffers = new Map(); // number -> GPUBuffer
  #next = STEP;
  /** @type {{number: number, size: number, age: number}[]} buffers that nobody has */
  #free = [];
  #age = 0; // number of reads so far
  #kernels = []; // of all libraries
  #libraries = []; // name -> number of a kernel, from 1
  /** @type {GPUCommandEncoder | null} */
  #encoder = null;
  /** @type {GPUComputePassEncoder | null} */
  #pass = null;
  #launches = 0; // in the encoder
  #scalars = new DataView(new ArrayBuffer(LAUNCHES * SLOT));
  #uniforms;

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#device = device;
    device.lost.then(({ message }) => this.#fail(`The GPU was lost${message ? ` (${message})` : ''}.`));
    this.#watch();
    const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
    this.#uniforms = this.#buffers.get(this.#add({ size: LAUNCHES * SLOT, usage }));
  }

  /**
   * Return the functions that compiled code calls.
   * @param {import('./tvm.js').Tvm} tvm whose memory has arguments and names
   */
  imports(tvm) {
    this.#tvm = tvm;
    return {
      allocate: (size) => this.allocate(size >>> 0),
      release: (number) => this.release(number >>> 0),
      find_kernel: (library, name) => this.#libraries[library].get(tvm.text(name)) ?? 0,
      launch_kernel: (kernel, at, count) => this.#launch(this.#kernels[kernel - 1], at >>> 0, count),
    };
  }

  /**
   * Compile kernels, as many at a time as there are processors, and return the number of their library. All at once
   * would need too much memory: a compiler needs hundreds of megabytes for a large kernel.
   * @param {import('./kernels.js').Kernel[]} kernels
   * @returns {Promise<number>} rejected with a GpuError
   */
  async compile(kernels) {
    const compiled = [];
    const left = kernels.entries();
    const compileNext = async () => {
      for (const [place, kernel] of left) compiled[place] = await this.#compiled(kernel);
    };
    await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, compileNext));
    const numbers = compiled.map((kernel) => [kernel.name, this.#kernels.push(kernel)]);
    return this.#libraries.push(new Map(/** @type {[string, number][]} */ (numbers))) - 1;
  }

  /** Return the number of an uninitialized buffer. Throws a GpuError. @param {number} size */
  allocate(size) {
    const whole = Math.max(4, Math.ceil(size / 4) * 4);
    const place = this.#free.findIndex((item) => item.size === whole);
    if (place >= 0) return this.#free.splice(place, 1)[0].number;
    return this.#add({ size: whole, usage: STORAGE() });
  }

  /** Free a buffer; queued work may still use it. @param {number} number */
  release(number) {
    this.#free.push({ number, size: this.#buffers.get(number).size, age: this.#age });
  }

  /**
   * Return a buffer that `fill` writes before anything else sees it.
   * @param {number} size
   * @param {(bytes: ArrayBuffer) => void} fill
   * @returns {number}
   */
  filled(size, fill) {
    const number = this.#add({ size: Math.ceil(size / 4) * 4, usage: STORAGE(), mappedAtCreation: true });
    const buffer = this.#buffers.get(number);
    fill(buffer.getMappedRange());
    buffer.unmap();
    return number;
  }

  /** @param {number} number of a buffer @param {ArrayBufferView} values of four bytes each */
  write(number, values) {
    this.#check();
    this.#submit(); // queued work may read the old values
    this.#device.queue.writeBuffer(this.#buffers.get(number), 0, values.buffer, values.byteOffset, values.byteLength);
  }

  /**
   * Return bytes of a buffer once all queued work is done.
   * @param {number} number
   * @param {number} size a multiple of 4
   * @returns {Promise<ArrayBuffer>} rejected with a GpuError
   */
  async read(number, size) {
    this.#check();
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const staging = this.#created({ size, usage });
    this.#end();
    this.#commands().copyBufferToBuffer(this.#buffers.get(number), 0, staging, 0, size);
    this.#submit();
    this.#forget();
    const complaint = this.#complaints();
    this.#watch();
    try {
      await staging.mapAsync(GPUMapMode.READ);
      this.#complain(await complaint);
      return staging.getMappedRange().slice(0);
    } catch (error) {
      await complaint; // else the rejection would be unhandled
      if (!(error instanceof GpuError)) await settled(); // a lost device reports it
      this.#check();
      throw error instanceof GpuError ? error : new GpuError(`The GPU gives nothing back (${error.message}).`, { cause: error });
    } finally {
      staging.destroy();
    }
  }

  close() {
    this.#fail('The GPU was closed.');
    this.#device.destroy();
  }

  #add(descriptor) {
    this.#check();
    const number = this.#next;
    this.#next += STEP;
    this.#buffers.set(number, this.#created(descriptor));
    return number;
  }

  /** @param {GPUBufferDescriptor} descriptor @returns {GPUBuffer} */
  #created(descriptor) {
    try {
      return this.#device.createBuffer(descriptor);
    } catch (error) {
      throw new GpuError(`The GPU has no memory for ${descriptor.size} bytes (${error.message}).`, { cause: error });
    }
  }

  /** Free buffers that the last utterance did not use. */
  #forget() {
    for (const { number, age } of this.#free) {
      if (age === this.#age) continue;
      this.#buffers.get(number).destroy();
      this.#buffers.delete(number);
    }
    this.#free = this.#free.filter(({ age }) => age === this.#age);
    this.#age += 1;
  }

  /** @param {import('./kernels.js').Kernel} kernel */
  async #compiled({ name, text, codes, axes, writes }) {
    const device = this.#device;
    const types = /** @type {GPUBufferBindingType[]} */ (writes.map((item) => (item ? 'storage' : 'read-only-storage')));
    const entries = [...types, /** @type {const} */ ('uniform')].map((type, binding) => {
      return { binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } };
    });
    const layout = device.createBindGroupLayout({ entries });
    const values = codes.map((code, argument) => ({ code, argument }));
    try {
      const pipeline = await device.createComputePipelineAsync({
        layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module: device.createShaderModule({ code: text }), entryPoint: name },
      });
      return {
        name, layout, pipeline, axes, count: codes.length,
        buffers: values.filter(({ code }) => code === Code.pointer).map(({ argument }) => argument),
        scalars: values.filter(({ code }) => code !== Code.pointer),
      };
    } catch (error) {
      await settled();
      this.#check();
      throw new GpuError(`The GPU does not take the kernel ${name} (${error.message}).`, { cause: error });
    }
  }

  /** @param {any} kernel @param {number} at the address of its arguments, TVMFFIAny @param {number} count */
  #launch({ name, layout, pipeline, axes, buffers, scalars, count: taken }, at, count) {
    this.#check();
    if (count !== taken + axes.length) throw new TypeError(`${name} was called with ${count} arguments`);
    if (this.#launches === LAUNCHES) this.#submit();
    const { view } = this.#tvm;
    const value = (argument) => at + ANY * argument + ANY / 2;
    const extents = [1, 1, 1];
    axes.forEach((axis, place) => axis !== null && (extents[axis] = view.getInt32(value(taken + place), true)));
    const [groups, y, own] = extents;
    if (own !== 1) throw new TypeError(`${name}: blockIdx.z is not a kernel's own on WebGPU`);
    const slot = SLOT * this.#launches++;
    scalars.forEach(({ code, argument }, place) => {
      if (code === Code.float) this.#scalars.setFloat32(slot + 4 * place, view.getFloat64(value(argument), true), true);
      else this.#scalars.setUint32(slot + 4 * place, view.getUint32(value(argument), true), true);
    });
    this.#scalars.setUint32(slot + 4 * scalars.length, groups, true);
    const bound = buffers.map((argument) => ({ buffer: this.#buffers.get(view.getUint32(value(argument), true)) }));
    bound.push({ buffer: this.#uniforms, offset: slot, size: 4 * (scalars.length + 1) });
    const entries = bound.map((resource, binding) => ({ binding, resource }));
    this.#pass ??= this.#commands().beginComputePass();
    this.#pass.setPipeline(pipeline);
    this.#pass.setBindGroup(0, this.#device.createBindGroup({ layout, entries }));
    const [x, z] = folded(groups);
    this.#pass.dispatchWorkgroups(x, y, z);
  }

  #commands() {
    return (this.#encoder ??= this.#device.createCommandEncoder());
  }

  #end() {
    this.#pass?.end();
    this.#pass = null;
  }

  #submit() {
    if (!this.#encoder) return;
    this.#end();
    const { queue } = this.#device;
    if (this.#launches) queue.writeBuffer(this.#uniforms, 0, this.#scalars.buffer, 0, SLOT * this.#launches);
    queue.submit([this.#encoder.finish()]);
    this.#encoder = null;
    this.#launches = 0;
  }

  /** Begin to collect the browser's errors, which it reports later than the call. */
  #watch() {
    FILTERS.forEach((filter) => this.#device.pushErrorScope(filter));
  }

  /** Return the errors since then. @returns {Promise<GPUError | undefined>} */
  async #complaints() {
    const errors = FILTERS.map(() => this.#device.popErrorScope().catch(() => null)); // a lost device has none
    return (await Promise.all(errors)).find((error) => error !== null);
  }

  /** @param {GPUError | undefined} error */
  #complain(error) {
    if (!error) return;
    const isMemory = globalThis.GPUOutOfMemoryError && error instanceof GPUOutOfMemoryError;
    this.#fail(isMemory ? 'The GPU has too little memory.' : `The GPU refuses a command (${error.message}).`);
    this.#check();
  }

  /** @param {string} message */
  #fail(message) {
    this.#failure ??= new GpuError(message);
  }

  #check() {
    if (this.#failure) throw this.#failure;
  }
}

const STORAGE = () => GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;

/** Let decided promises of the browser run their callbacks. */
const settled = () => new Promise((done) => setTimeout(done));

async function found() {
  if (!globalThis.navigator?.gpu) throw new GpuError('The browser has no WebGPU.');
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  if (!adapter) throw new GpuError('The browser gives no GPU.');
  return adapter;
}

/** @param {GPUAdapter} adapter @param {GPUDeviceDescriptor} descriptor */
async function opened(adapter, descriptor) {
  try {
    return await adapter.requestDevice(descriptor);
  } catch (error) {
    throw new GpuError(`The browser does not give the GPU (${error.message}).`, { cause: error });
  }
}

/** @param {any} adapter */
const isSoftware = ({ info, isFallbackAdapter }) => info?.isFallbackAdapter ?? isFallbackAdapter ?? false;
