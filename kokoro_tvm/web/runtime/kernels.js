/** WebGPU kernels as TVM writes them: text and launch parameters (kokoro_tvm/runtime/bundle/device_code.py). */

/** DLPack's type codes. */
export const Code = { int: 0, uint: 1, float: 2, pointer: 3 };

const GROUPS = 'blockIdx.';
const THREADS = 'threadIdx.';
const WRITES = 'paramWriteAccess:';

/**
 * A kernel. codes: types of its arguments; axes: 0 to 2 for workgroups along x, y and z, null for threads, of the
 * extents after the arguments; writes: whether each buffer argument is written.
 * @typedef {{name: string, text: string, codes: number[], axes: (number | null)[], writes: boolean[]}} Kernel
 */

/** @param {Uint8Array} bytes @returns {Kernel[]} */
export function readKernels(bytes) {
  const reader = new Reader(bytes);
  const functions = reader.list(() => {
    reader.text(); // the name again
    const name = reader.text();
    const codes = reader.list(() => reader.argument());
    const tags = reader.list(() => reader.text());
    reader.list(() => reader.skip(4)); // marks of arguments that are passed differently: of other kinds
    return { name, codes, tags };
  });
  const texts = new Map(reader.list(() => [reader.text(), reader.text()]));
  return functions.map(({ name, codes, tags }) => ({
    name,
    text: /** @type {string} */ (texts.get(name)),
    codes,
    axes: tags.filter((tag) => !tag.startsWith(WRITES)).map(axis),
    writes: tags.filter((tag) => tag.startsWith(WRITES)).flatMap((tag) => JSON.parse(tag.slice(WRITES.length)).map(Boolean)),
  }));
}

/**
 * Return the workgroups along x and z for a number along x: no axis has 65536. Kernels account for it.
 * @param {number} groups
 * @returns {[number, number]}
 */
export function folded(groups) {
  let [x, z] = [groups, 1];
  for (; x >= 1 << 16; z *= 2) x = Math.ceil(x / 2);
  return [x, z];
}

/** @param {string} tag @returns {number | null} */
function axis(tag) {
  if (tag.startsWith(THREADS)) return null; // the number is in the text
  const result = tag.startsWith(GROUPS) ? 'xyz'.indexOf(tag.slice(GROUPS.length)) : -1;
  if (result < 0) throw new TypeError(`a launch with ${tag} is not WebGPU's`);
  return result;
}

/** Reader of little-endian fields. Throws a RangeError at the end. */
class Reader {
  #view;
  #at = 0;

  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  skip(count) {
    this.#at += count;
    return this.#at - count;
  }

  number() {
    return Number(this.#view.getBigUint64(this.skip(8), true));
  }

  /** Return the type code of an argument of 32 bits or of a pointer. */
  argument() {
    const at = this.skip(4);
    const [code, bits] = [this.#view.getUint8(at), this.#view.getUint8(at + 1)];
    if (code !== Code.pointer && bits !== 32) throw new TypeError(`WebGPU takes no argument of ${bits} bits`);
    return code;
  }

  text() {
    const size = this.number();
    const at = this.#view.byteOffset + this.skip(size);
    if (this.#at > this.#view.byteLength) throw new RangeError('the kernels are cut short');
    return new TextDecoder().decode(new Uint8Array(this.#view.buffer, at, size));
  }

  /** @template T @param {() => T} item @returns {T[]} */
  list(item) {
    return Array.from({ length: this.number() }, item);
  }
}
