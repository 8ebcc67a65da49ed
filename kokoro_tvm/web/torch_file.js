/**
 * Reader of the tensor of a `.pt` file of `torch.save`, as data: a ZIP archive with a pickle that refers to the bytes
 * of a storage. Only the pickle opcodes of one tensor are interpreted, and nothing is called; see
 * `kokoro_tvm/runtime/bundle/torch_file.py`.
 */

import { floats } from "./floats.js";
import { Archive } from "./zip.js";

const SAVE = "save one tensor with torch.save(tensor, FILE)";
const MOST = 1 << 24; // maximum values of a tensor, however small its file is
/** Storage -> bytes of a value. */
const STORAGES = new Map([["torch.HalfStorage", 2], ["torch.FloatStorage", 4], ["torch.DoubleStorage", 8]]);
const MARK = Symbol("mark");

/** A global of a pickle, which is never looked up. */
class Named {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }
}

/** @typedef {{shape: number[], values: Float32Array}} Tensor */

/**
 * Read the tensor of a file. Rejected with an Error whose message continues after the file's name.
 * @param {Uint8Array<ArrayBuffer>} data
 * @returns {Promise<Tensor>}
 */
export async function readTensor(data) {
  if (data[0] !== 0x50 || data[1] !== 0x4b) throw new Error(`is no file of PyTorch 1.6 or later; ${SAVE}`);
  const archive = opened(data);
  const paths = archive.paths.filter((path) => path.endsWith("/data.pkl"));
  if (paths.length !== 1) throw new Error(`is a ZIP archive, but none of torch.save; ${SAVE}`);
  const root = paths[0].slice(0, -"data.pkl".length);
  if (archive.has(`${root}byteorder`) && (await text(archive, `${root}byteorder`)) !== "little") {
    throw new Error("has its values in the order of another machine; save it on this one");
  }
  const { reference, offset, shape, strides } = tensorOf(await archive.read(paths[0]));
  const [word, kind, key, , count] = Array.isArray(reference) ? reference : [];
  if (word !== "storage" || !(kind instanceof Named) || typeof key !== "string") throw none();
  const size = STORAGES.get(kind.name);
  if (!size) throw new Error(`has values of ${kind.name}, not float32; save tensor.float()`);
  const bytes = await archive.read(`${root}data/${key}`);
  if (bytes.length !== count * size) throw new Error(`has ${bytes.length} bytes of values where ${count * size} should be`);
  return { shape, values: gathered(floats(bytes, size), offset, shape, strides) };
}

/** @param {Uint8Array<ArrayBuffer>} data */
function opened(data) {
  try {
    return new Archive(data);
  } catch (error) {
    throw new Error("is damaged; copy it again", { cause: error });
  }
}

/** @param {Archive} archive @param {string} path */
async function text(archive, path) {
  return new TextDecoder().decode(await archive.read(path));
}

const none = () => new Error(`has a pickle that makes no tensor; ${SAVE}`);

/**
 * Gather the values of a tensor in order.
 * @param {Float32Array} values
 * @param {number} offset
 * @param {number[]} shape
 * @param {number[]} strides
 */
function gathered(values, offset, shape, strides) {
  const numbers = [offset, ...shape, ...strides];
  const count = shape.reduce((product, size) => product * size, 1);
  const last = shape.reduce((place, size, axis) => place + (size - 1) * strides[axis], offset);
  if (shape.length !== strides.length || !numbers.every(Number.isInteger)) throw none();
  if (Math.min(...numbers) < 0 || count === 0 || count > MOST || last >= values.length) {
    throw new Error("has a tensor that reaches beyond its values; copy it again");
  }
  return Float32Array.from({ length: count }, (_, index) => {
    let place = offset;
    for (let axis = shape.length - 1, rest = index; axis >= 0; axis--) {
      place += (rest % shape[axis]) * strides[axis];
      rest = Math.floor(rest / shape[axis]);
    }
    return values[place];
  });
}

/**
 * Interpret a pickle, which has to be one tensor.
 * @param {Uint8Array} program
 * @returns {{reference: any, offset: number, shape: number[], strides: number[]}}
 */
function tensorOf(program) {
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength);
  /** @type {any[]} */
  const stack = [];
  const memo = new Map();
  let place = 0;
  const bytes = (/** @type {number} */ count) => {
    if (count > program.length - place) throw new RangeError("cut short");
    place += count;
    return program.subarray(place - count, place);
  };
  const byte = () => bytes(1)[0];
  const word = () => view.getUint32((place += 4) - 4, true);
  const line = () => {
    const end = program.indexOf(10, place);
    if (end < 0) throw new RangeError("cut short");
    const found = new TextDecoder().decode(bytes(end - place));
    place++;
    return found;
  };
  const string = (/** @type {number} */ count) => new TextDecoder().decode(bytes(count));
  const tuple = (/** @type {number} */ count) => {
    if (stack.length < count) throw none();
    stack.push(stack.splice(stack.length - count, count));
  };
  const remembered = (/** @type {number} */ index) => {
    if (!memo.has(index)) throw none();
    stack.push(memo.get(index));
  };
  /** Opcode -> effect. @type {Record<number, () => void>} */
  const opcodes = {
    0x80: () => void byte(), // PROTO
    0x95: () => void bytes(8), // FRAME
    0x58: () => stack.push(string(word())), // BINUNICODE
    0x8c: () => stack.push(string(byte())), // SHORT_BINUNICODE
    0x4a: () => stack.push(view.getInt32((place += 4) - 4, true)), // BININT
    0x4b: () => stack.push(byte()), // BININT1
    0x4d: () => stack.push(view.getUint16((place += 2) - 2, true)), // BININT2
    0x8a: () => stack.push(Number(bytes(byte()).reduceRight((sum, each) => sum * 256n + BigInt(each), 0n))), // LONG1
    0x47: () => stack.push(view.getFloat64((place += 8) - 8)), // BINFLOAT
    0x88: () => stack.push(true),
    0x89: () => stack.push(false),
    0x4e: () => stack.push(null),
    0x28: () => stack.push(MARK),
    0x63: () => stack.push(new Named(`${line()}.${line()}`)), // GLOBAL
    0x93: () => stack.push(new Named(stack.splice(-2).join("."))), // STACK_GLOBAL
    0x29: () => tuple(0),
    0x85: () => tuple(1),
    0x86: () => tuple(2),
    0x87: () => tuple(3),
    0x74: () => { // TUPLE
      const start = stack.lastIndexOf(MARK);
      if (start < 0) throw none();
      stack.splice(start, stack.length, stack.slice(start + 1));
    },
    0x71: () => memo.set(byte(), stack.at(-1)), // BINPUT
    0x72: () => memo.set(word(), stack.at(-1)), // LONG_BINPUT
    0x94: () => memo.set(memo.size, stack.at(-1)), // MEMOIZE
    0x68: () => remembered(byte()), // BINGET
    0x6a: () => remembered(word()), // LONG_BINGET
    0x51: () => stack.push({ reference: stack.pop() }), // BINPERSID
    0x52: () => stack.push(called(...stack.splice(-2))), // REDUCE
  };
  try {
    for (let opcode = byte(); opcode !== 0x2e; opcode = byte()) {
      if (opcode === 0x7d || opcode === 0x5d) {
        throw new Error(`holds ${opcode === 0x7d ? "a dictionary" : "a list"}, not one tensor; ${SAVE}`);
      }
      if (!(opcode in opcodes)) throw new Error(`has an opcode in its pickle, ${opcode}, which no tensor needs; ${SAVE}`);
      opcodes[opcode]();
    }
  } catch (error) {
    if (error instanceof RangeError) throw new Error("has a damaged pickle; copy it again", { cause: error });
    throw error;
  }
  const [tensor] = stack;
  if (stack.length !== 1 || !Array.isArray(tensor?.shape)) throw none();
  return tensor;
}

/** Return what a call in a pickle stands for; nothing is called. @param {any[]} call a function and its arguments */
function called(...[made, values]) {
  if (!(made instanceof Named) || !Array.isArray(values)) throw none();
  if (made.name === "collections.OrderedDict" && !values.length) return {};
  if (made.name === "torch._utils._rebuild_parameter") return values[0];
  if (made.name !== "torch._utils._rebuild_tensor_v2") {
    throw new Error(`would call ${made.name}, which is not done: a voice is data; ${SAVE}`);
  }
  const [storage, offset, shape, strides] = values;
  if (!Array.isArray(shape) || !Array.isArray(strides) || !storage?.reference) throw none();
  return { reference: storage.reference, offset, shape, strides };
}
