/* Runs compiled code for another process, as server.c does and with the same requests and replies, in Node:
 * node server.mjs WEB RUNTIME THREADS, where WEB is the folder of the JavaScript runtime and RUNTIME is
 * libtvm.wasm.
 *
 * PLACE of an array: no memory can be forbidden here, so whatever is not `aligned` lies unaligned between words
 * that are NaN, others for each array. What a kernel reads there is NaN, and what it writes there is found.
 */
import { readFileSync, readSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const [WEB, RUNTIME, THREADS] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(WEB, 'runtime', name)));
const { Tvm } = await load('tvm.js');
const { features } = await load('features.js');

const INPUT = 0;
const OUTPUT = 1;
const GUARD = 4096; // bytes
const WORD = 4;
const QUIET_NAN = 0xffc00000;
const CODES = { 0: 'int', 1: 'uint', 2: 'float' };
const WORDS = Object.fromEntries(Object.entries(CODES).map(([code, word]) => [word, code]));

function read(size) {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; ) {
    const count = readSync(INPUT, bytes, at, size - at, null);
    if (count === 0) throw new Error('the request ends in the middle');
    at += count;
  }
  return bytes;
}

function readLine() {
  const bytes = [];
  const one = new Uint8Array(1);
  while (readSync(INPUT, one, 0, 1, null)) {
    if (one[0] === 10) return Buffer.from(bytes).toString();
    bytes.push(one[0]);
  }
  return null;
}

function write(content) {
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; ) at += writeSync(OUTPUT, bytes, at);
}

/** An array as a request describes it: a tensor and what surrounds it. */
function readArray(words) {
  const [code, bits, dimensions, ...rest] = words;
  const shape = rest.slice(0, Number(dimensions)).map(Number);
  const place = rest[Number(dimensions)];
  const dtype = `${CODES[code]}${bits}`;
  const size = shape.reduce((product, extent) => product * extent, Number(bits) / 8);
  const content = read(size);
  if (place === 'aligned') return { tensor: tvm.tensor(content, shape, dtype), intact: () => true };
  if (size % WORD) throw new Error(`${size} bytes cannot lie between words`);
  const before = GUARD + (place === 'end' ? -size & 60 : Number(bits) / 8);
  const memory = tvm.allocate(before + size + GUARD);
  const mark = QUIET_NAN | (marks++ & 0xfffff);
  const around = () => [
    new Uint32Array(tvm.memory.buffer, memory, before / WORD),
    new Uint32Array(tvm.memory.buffer, memory + before + size, GUARD / WORD),
  ];
  const intact = () => around().every((words) => words.every((word) => word === mark >>> 0));
  around().forEach((words) => words.fill(mark));
  const at = memory + before;
  tvm.bytes.set(content, at);
  const tensor = tvm.tensor(null, shape, dtype, at);
  tensor.memory.push(memory);
  return { tensor, intact };
}

function writeArray(tensor) {
  const [, word, bits] = /^([a-z]+)(\d+)$/.exec(tensor.dtype);
  const values = tensor.values();
  write(`${[WORDS[word], bits, tensor.shape.length, ...tensor.shape].join(' ')}\n`);
  write(new Uint8Array(values.buffer));
}

const tvm = await Tvm.start(readFileSync(RUNTIME), { threads: Number(THREADS) });
const libraries = new Map();
const kept = new Map();
let marks = 0;

async function open([id, kind]) {
  const path = readLine();
  readLine(); // kernels for a GPU: no such bundle is given here
  readLine(); // the prefix of a system library
  const module = await tvm.compile(readFileSync(path));
  libraries.set(id, kind === 'vm' ? tvm.machine(module) : tvm.library(module));
  write('ok 0\n');
}

function keep([id]) {
  kept.set(id, readArray(readLine().split(' ').slice(1)).tensor);
  write('ok 0\n');
}

function call([id, name, count, what]) {
  const given = Array.from({ length: Number(count) }, () => {
    const [kind, ...words] = readLine().split(' ');
    return kind === 'kept' ? { tensor: kept.get(words[0]), stays: true } : readArray(words);
  });
  const tensors = given.map(({ tensor }) => tensor);
  tvm.global('vm.builtin.memory_manager.clear').call();
  const results = libraries.get(id)(name).call(...tensors) ?? [];
  const outside = given.findIndex(({ stays, intact }) => !stays && !intact());
  if (outside >= 0) throw new Error(`${name} wrote outside its argument ${outside}`);
  const shown = what === 'arguments' ? tensors : results;
  write(`ok ${shown.length}\n`);
  shown.forEach(writeArray);
  results.forEach((tensor) => tensor.free());
  given.filter(({ stays }) => !stays).forEach(({ tensor }) => tensor.free());
}

function writeFeatures() {
  const words = features().join(' ');
  write(`ok 1\n1 8 1 ${words.length}\n${words}`);
}

const requests = { features: writeFeatures, open, keep, call };

for (let line = readLine(); line !== null; line = readLine()) {
  const [word, ...words] = line.split(' ');
  try {
    await requests[word](words);
  } catch (error) {
    const message = Buffer.from(error.message || String(error));
    write(`error ${message.length}\n`);
    write(message);
  }
}
