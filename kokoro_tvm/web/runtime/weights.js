/** Weights of a component, from a safetensors file that comes in parts. */

import { BundleError, MemoryError } from '../errors.js';
import { quantizedSize, widen, widenedSize } from './quantized.js';

const PAGE = 65536; // of memory
const COUNT = 8; // bytes at the start of a file with the length of its header
const ALIGNMENT = 64;
/** Safetensors' name of a dtype, and bytes of an element. */
const WORDS = { float32: 'F32', float16: 'F16', int64: 'I64', int32: 'I32', uint32: 'U32' };
const SIZES = { float32: 4, float16: 2, int64: 8, int32: 4, uint32: 4 };
const QUANTIZED = 'quantized'; // see `METADATA` in kokoro_tvm/runtime/bundle/quantized.py

/**
 * @typedef {{name: string, dtype: string, shape: number[]}} Parameter
 * @typedef {{parameters: Parameter[], weights: {file: string, size: number}}} Component
 */

/** Return the bytes of a parameter, up to where the next one may begin. @param {Parameter} parameter */
export const sizeOf = ({ shape, dtype }) => aligned(shape.reduce((all, item) => all * item, 1) * SIZES[dtype]);

const aligned = (size) => Math.ceil(size / ALIGNMENT) * ALIGNMENT;

/**
 * Load weights and return their addresses in the order of the signature.
 *
 * Rejected with a BundleError if the file lacks a parameter, a MemoryError, and the errors of `parts`.
 * @param {WebAssembly.Memory} memory
 * @param {Component} component
 * @param {AsyncIterable<Uint8Array>} parts of the file
 * @param {{start: number, size: number} | null} [room] memory that it may take, where it is large enough
 * @returns {Promise<number[]>} addresses
 */
export async function loadWeights(memory, component, parts, room = null) {
  const { parameters, weights } = component;
  const size = parameters.reduce((sum, item) => sum + sizeOf(item), 0);
  let end = room && size <= room.size ? room.start : grown(memory, size, weights.file);
  const places = new Map();
  for (const parameter of parameters) {
    places.set(parameter.name, end);
    end += sizeOf(parameter);
  }
  for await (const { name, fill } of tensors(component, parts)) fill(memory.buffer, places.get(name));
  return parameters.map(({ name }) => places.get(name));
}

/**
 * Yield the parameters in the order of the file as soon as they are complete. `fill(buffer, place)` writes the
 * weights, until the next one.
 * @param {Component} component
 * @param {AsyncIterable<Uint8Array>} parts of the file
 * @returns {AsyncGenerator<{name: string, size: number, fill: (buffer: ArrayBufferLike, place: number) => void}>}
 *   fails as `loadWeights`
 */
export async function* tensors({ parameters, weights: { file, size } }, parts) {
  const byName = new Map(parameters.map((item) => [item.name, item]));
  let head = new Uint8Array(0);
  /** @type {{header: number, entries: Entry[]} | null} */
  let layout = null;
  let room = new ArrayBuffer(0); // of the current tensor, then of the next one
  let at = 0; // of the next byte, after the header
  let place = 0; // of the current tensor
  for await (const part of parts) {
    let left = part;
    if (!layout) {
      head = joined(head, part);
      layout = layoutOf(head, byName, file, size);
      if (!layout) continue;
      left = head.subarray(layout.header);
    }
    while (place < layout.entries.length) {
      const { parameter, begin, end, quantized } = layout.entries[place];
      if (room.byteLength < end - begin) room = new ArrayBuffer(end - begin);
      const bytes = new Uint8Array(room, 0, end - begin);
      const skipped = Math.max(0, begin - at);
      bytes.set(left.subarray(skipped, Math.max(skipped, end - at)), Math.max(0, at - begin));
      if (end > at + left.length) break;
      const fill = (buffer, start) => {
        if (quantized) widen(bytes, quantized, new Float32Array(buffer, start, widenedSize(quantized) / 4));
        else new Uint8Array(buffer, start).set(bytes.subarray(0, sizeOf(parameter)));
      };
      yield { name: parameter.name, size: sizeOf(parameter), fill };
      place += 1;
    }
    at += left.length;
  }
  if (!layout || place < layout.entries.length) throw new BundleError(`${file} is cut short. Load the bundle again.`);
}

/**
 * A parameter's place in a file, in bytes after the header.
 * @typedef {{parameter: Parameter, begin: number, end: number, quantized: import('./quantized.js').Quantized |
 *   undefined}} Entry
 */

/**
 * Return a file's parameters in order, or null if its header is incomplete.
 * @param {Uint8Array} bytes its first ones
 * @param {Map<string, Parameter>} parameters
 * @returns {{header: number, entries: Entry[]} | null}
 */
function layoutOf(bytes, parameters, file, size) {
  if (bytes.length < COUNT) return null;
  const header = COUNT + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (header > size) throw new BundleError(`${file} is no safetensors file. Load the bundle again.`);
  if (bytes.length < header) return null;
  const { __metadata__: metadata, ...found } = parsed(bytes.subarray(COUNT, header), file);
  const quantized = metadata?.[QUANTIZED] ? JSON.parse(metadata[QUANTIZED]) : {};
  const entries = [...parameters.values()].map((parameter) => {
    const { name, dtype } = parameter;
    const [begin, end] = found[name]?.data_offsets ?? [0, 0];
    const entry = { parameter, begin, end, quantized: quantized[name] };
    if (!isWhole(entry, found[name]?.dtype)) throw new BundleError(`${file} has no ${name} of ${WORDS[dtype]}. Build the bundle again.`);
    return entry;
  });
  return { header, entries: entries.sort((a, b) => a.begin - b.begin) };
}

/**
 * Return whether an entry has the type and size of its parameter.
 * @param {Entry} entry
 * @param {string | undefined} word its dtype's
 */
function isWhole({ parameter, begin, end, quantized }, word) {
  if (!quantized) return word === WORDS[parameter.dtype] && end - begin === sizeOf(parameter);
  return aligned(widenedSize(quantized)) === sizeOf(parameter) && end - begin === aligned(quantizedSize(quantized));
}

function parsed(bytes, file) {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new BundleError(`${file} is no safetensors file (${error.message}). Load the bundle again.`);
  }
}

/** Grow the memory by zeroed bytes and return their address. Throws a MemoryError. */
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
