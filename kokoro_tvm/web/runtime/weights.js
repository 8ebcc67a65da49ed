/** A component's weights: from a safetensors file that comes in parts into the runtime's memory, without a copy between. */

import { BundleError, MemoryError } from '../errors.js';
import { widen } from './half.js';

const PAGE = 65536; // of memory
const COUNT = 8; // bytes at the start of a file: how long its header is
/** Safetensors' word for a dtype; and for what a file may have in the place of float32. */
const WORDS = { float32: 'F32', float16: 'F16', int64: 'I64', int32: 'I32', uint32: 'U32' };
const HALF = 'F16';

/**
 * Where weights are from now on, in the order of the signature. What is stored as float16 is made float32 in its place.
 *
 * Rejected with a BundleError where the file lacks a parameter, a MemoryError, and with what `parts` fails with.
 * @param {WebAssembly.Memory} memory
 * @param {{parameters: {name: string, dtype: string}[], weights: {file: string, size: number}}} component
 * @param {AsyncIterable<Uint8Array>} parts of the file
 * @param {{start: number, size: number} | null} [room] memory that it may take, where it is large enough
 * @returns {Promise<number[]>} addresses
 */
export async function loadWeights(memory, { parameters, weights: { file, size } }, parts, room = null) {
  /** @type {Layout | null} */
  let layout = null;
  let head = new Uint8Array(0);
  let start = 0; // in memory
  let at = 0;
  const put = (bytes) => {
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    at += bytes.length;
  };
  for await (const part of parts) {
    if (layout) {
      put(part);
      continue;
    }
    head = joined(head, part);
    layout = layoutOf(head, parameters, file, size);
    if (!layout) continue;
    start = room && layout.size <= room.size ? room.start : grown(memory, layout.size, file);
    at = start + layout.size - (size - layout.header); // at the end, from where it grows towards the start
    put(head.subarray(layout.header));
  }
  if (!layout) throw new BundleError(`${file} ends within its header. Load the bundle again.`);
  return arranged(memory, layout, start, at - (size - layout.header), parameters);
}

/**
 * header: bytes before the tensors; size: bytes that they take in memory; tensors: in the order of the file, by bytes
 * behind the header.
 * @typedef {{header: number, size: number, tensors: Tensor[]}} Layout
 * @typedef {{name: string, begin: number, end: number, isHalf: boolean}} Tensor
 */

/** The layout of a file, or null where its header is not there yet.
 * @param {Uint8Array} bytes its first ones @returns {Layout | null} */
export function layoutOf(bytes, parameters, file, size) {
  if (bytes.length < COUNT) return null;
  const header = COUNT + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (header > size) throw new BundleError(`${file} is no safetensors file. Load the bundle again.`);
  if (bytes.length < header) return null;
  const entries = parsed(bytes.subarray(COUNT, header), file);
  const words = new Map(parameters.map(({ name, dtype }) => [name, WORDS[dtype]]));
  for (const [name, word] of words) {
    const found = entries[name]?.dtype;
    if (found !== word && !(word === WORDS.float32 && found === HALF)) {
      throw new BundleError(`${file} has no ${name} of ${word}. Build the bundle again.`);
    }
  }
  const tensors = Object.entries(entries).flatMap(([name, { dtype, data_offsets: offsets }]) =>
    words.has(name) ? [{ name, begin: offsets[0], end: offsets[1], isHalf: dtype !== words.get(name) }] : [],
  );
  tensors.sort((a, b) => a.begin - b.begin);
  const more = tensors.reduce((sum, { begin, end, isHalf }) => sum + (isHalf ? end - begin : 0), 0);
  return { header, size: size - header + more, tensors };
}

function parsed(bytes, file) {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new BundleError(`${file} is no safetensors file (${error.message}). Load the bundle again.`);
  }
}

/** Moves tensors that are stored from `from` on towards `start`, where they have room to be float32: none reaches what
 * was not moved yet, because what is left never takes less room there than it does where it lies. */
function arranged(memory, { tensors }, start, from, parameters) {
  const addresses = new Map();
  let shift = start - from; // what the next tensor has moved by
  for (const { name, begin, end, isHalf } of tensors) {
    const to = from + begin + shift;
    addresses.set(name, to);
    const content = new Uint8Array(memory.buffer, from + begin, end - begin);
    if (isHalf) {
      widen(content, new Float32Array(memory.buffer, to, content.length / 2));
      shift += content.length;
    } else if (shift) new Uint8Array(memory.buffer).copyWithin(to, from + begin, from + end);
  }
  return parameters.map(({ name }) => addresses.get(name));
}

/** Where memory for so many bytes begins, which is there from now on, all of them 0. Throws a MemoryError. */
export function grown(memory, size, file) {
  try {
    return memory.grow(Math.ceil(size / PAGE)) * PAGE;
  } catch (error) {
    throw new MemoryError(`The browser gives no ${size} bytes for ${file}.`, { cause: error });
  }
}

function joined(first, second) {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
