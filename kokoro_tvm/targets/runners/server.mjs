/**
 * Run compiled code for another process in Node: node server.mjs WEB RUNTIME THREADS. WEB is the folder of the
 * JavaScript runtime, RUNTIME is libtvm.wasm.
 */
import { readFileSync, readSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

import { Serving } from './serving.mjs';

const [WEB, RUNTIME, THREADS] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(WEB, 'runtime', name)));
const { Host } = await load('device.js');
const { Tvm } = await load('tvm.js');
const { features } = await load('features.js');

const INPUT = 0;
const OUTPUT = 1;

/** Standard input and output. */
const stream = {
  read(size) {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; ) {
      const count = readSync(INPUT, bytes, at, size - at, null);
      if (count === 0) throw new Error('the request ends in the middle');
      at += count;
    }
    return bytes;
  },

  readLine() {
    const bytes = [];
    const one = new Uint8Array(1);
    while (readSync(INPUT, one, 0, 1, null)) {
      if (one[0] === 10) return Buffer.from(bytes).toString();
      bytes.push(one[0]);
    }
    return null;
  },

  write(content) {
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length; ) at += writeSync(OUTPUT, bytes, at);
  },

  file: async (path) => readFileSync(path),
};

const tvm = await Tvm.start(readFileSync(RUNTIME), { threads: Number(THREADS) });
await new Serving({ tvm, devices: { cpu: new Host(tvm) }, features: features(), stream }).run();
