/** Voice files: style tables from .pt, .npy, .bin and .safetensors, as `runtime/bundle/voice_files.py` reads them. */

import { InputError } from "./errors.js";
import { floats } from "./floats.js";
import { quote } from "./characters.js";
import { readTensor } from "./torch_file.js";

/** @typedef {import("./voices.js").Table} Table */
/** @typedef {import("./torch_file.js").Tensor} Tensor */

export const SUFFIXES = [".pt", ".npy", ".bin", ".safetensors"];
const ROWS = 510; // of a style table, one per number of phonemes, from 1
const MOST_BYTES = 64 << 20;
const NAME = /^[A-Za-z0-9_]{1,64}$/;
const SIZES = new Map([["F16", 2], ["F32", 4], ["F64", 8], ["<f2", 2], ["<f4", 4], ["<f8", 8]]);

/**
 * Read a file. Rejected with an InputError, before reading, if it cannot be a voice.
 * @param {File} file
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function bytesOfVoice(file) {
  if (!SUFFIXES.includes(suffixOf(file.name))) {
    throw new InputError(`${file.name} is no file of a voice: these end in ${SUFFIXES.join(", ")}.`);
  }
  if (file.size > MOST_BYTES) {
    throw new InputError(
      `The voice ${file.name} has ${Math.round(file.size / 1e6)} MB, and no voice has more than ` +
        `${Math.round(MOST_BYTES / 1e6)}. Is it the right file? It was not read.`,
    );
  }
  return new Uint8Array(await file.arrayBuffer());
}

/**
 * Return the voices of a file by name: the file's, or those of its tensors. Rejected with an InputError.
 * @param {string} file its name
 * @param {Uint8Array<ArrayBuffer>} data
 * @param {number} width of a row
 * @returns {Promise<Map<string, Table>>}
 */
export async function readVoices(file, data, width) {
  const suffix = suffixOf(file);
  const stem = file.slice(0, file.length - suffix.length);
  try {
    const tensors = suffix === ".safetensors" ? safetensors(data) : new Map([[stem, await READERS[suffix](data)]]);
    const named = tensors.size === 1 ? new Map([[stem, [...tensors.values()][0]]]) : tensors;
    return new Map([...named].map(([name, tensor]) => [checked(file, name), table(tensor, width)]));
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(`The voice ${file} ${/** @type {Error} */ (error).message}.`, { cause: error });
  }
}

/** @param {string} name of a file */
const suffixOf = (name) => /\.[^.]*$/.exec(name)?.[0] ?? "";

/** @param {string} file @param {string} name */
function checked(file, name) {
  if (NAME.test(name)) return name;
  throw new InputError(
    `${file}: a voice cannot be called ${quote(name.slice(0, 40))}, because signs such as - and + make mixes. ` +
      "Rename it: letters, digits and _, at most 64.",
  );
}

/** Suffix -> reader. @type {Record<string, (data: Uint8Array<ArrayBuffer>) => Tensor | Promise<Tensor>>} */
const READERS = { ".pt": readTensor, ".npy": array, ".bin": numbers };

/** @param {Uint8Array} data @returns {Tensor} */
function numbers(data) {
  if (data[0] === 0x50 && data[1] === 0x4b) throw new Error("is an archive of several; save each on its own, with numpy.save");
  if (data.length % 4) throw new Error(`has ${data.length} bytes, and float32 values have 4 each`);
  return { shape: [data.length / 4], values: floats(data, 4) };
}

/**
 * Read numpy's format (numpy/lib/format.py).
 * @param {Uint8Array} data
 * @returns {Tensor}
 */
function array(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const magic = [0x93, ...new TextEncoder().encode("NUMPY")].every((byte, place) => data[place] === byte);
  const wide = data[6] > 1;
  const start = wide ? 12 : 10;
  if (!magic || data.length < start) throw new Error("is no .npy file; write it with numpy.save");
  const end = start + (wide ? view.getUint32(8, true) : view.getUint16(8, true));
  const header = new TextDecoder("latin1").decode(data.subarray(start, end));
  const [kind, order, sizes] = [/'descr': *'([^']*)'/, /'fortran_order': *(True|False)/, /'shape': *\(([0-9, ]*)\)/].map(
    (field) => field.exec(header)?.[1],
  );
  if (kind === undefined || order === undefined || sizes === undefined) throw new Error("is a damaged .npy file; write it with numpy.save");
  const size = SIZES.get(kind);
  if (!size) throw new Error(`has values of ${kind}, not float32`);
  const shape = sizes.split(",").filter((item) => item.trim()).map(Number);
  if (order === "True" && shape.length > 1) throw new Error("is transposed; save numpy.ascontiguousarray of it");
  return sized(data.subarray(end), size, shape);
}

/** @param {Uint8Array} data @returns {Map<string, Tensor>} */
function safetensors(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const size = data.length < 8 ? 0 : Number(view.getBigUint64(0, true));
  if (!(size >= 2 && size <= data.length - 8)) throw new Error(`is no safetensors file: its header would be ${size} bytes long`);
  const header = JSON.parse(new TextDecoder().decode(data.subarray(8, 8 + size)));
  delete header.__metadata__;
  if (!Object.keys(header).length) throw new Error("has no tensor in it");
  return new Map(Object.entries(header).map(([name, { dtype, shape, data_offsets: [start, end] }]) => {
    const bytes = SIZES.get(dtype);
    if (!bytes) throw new Error(`has values of ${dtype}, not float32`);
    return [name, sized(data.subarray(8 + size + start, 8 + size + end), bytes, shape)];
  }));
}

/** @param {Uint8Array} bytes @param {number} size of a value @param {number[]} shape @returns {Tensor} */
function sized(bytes, size, shape) {
  const count = shape.reduce((product, item) => product * item, 1);
  if (bytes.length !== count * size) throw new Error(`has ${bytes.length} bytes of values where ${count * size} should be`);
  return { shape, values: floats(bytes, size) };
}

/** @param {Tensor} tensor @param {number} width @returns {Table} */
function table({ shape, values }, width) {
  const shapes = [[ROWS, 1, width], [ROWS, width], [1, 1, width], [1, width], [width], [ROWS * width]];
  if (!shapes.some((item) => item.join() === shape.join())) {
    throw new Error(`has the shape ${shape.join(" x ") || "of one value"}, not ${ROWS} x 1 x ${width}, ${ROWS} x ${width} or ${width}`);
  }
  const place = values.findIndex((value) => !Number.isFinite(value));
  if (place >= 0) throw new Error(`has NaN or infinity in it, first in row ${Math.floor(place / width)}: export it again`);
  return { rows: values.length / width, width, values };
}
