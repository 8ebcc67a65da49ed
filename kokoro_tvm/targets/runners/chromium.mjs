/**
 * Run compiled code for another process in a worker of Chromium, with kernels by WebGPU. Requests are answers of an
 * HTTP server, to which replies are posted: see chromium.py.
 */
import { Host, OnGpu } from './web/runtime/device.js';
import { features } from './web/runtime/features.js';
import { Gpu } from './web/runtime/gpu.js';
import { Tvm } from './web/runtime/tvm.js';

import { Serving } from './serving.mjs';

const settings = new URL(import.meta.url).searchParams; // of chromium.html
const threads = Number(settings.get('threads'));

const get = async (path) => new Uint8Array(await (await checked(await fetch(path))).arrayBuffer());
const post = async (path, body) => checked(await fetch(path, { method: 'POST', body }));

async function checked(response) {
  if (!response.ok) throw new Error(`${response.url}: status ${response.status}`);
  return response;
}

/** One request and its reply. */
class Exchange {
  reply = [];
  #bytes;
  #at = 0;

  constructor(bytes) {
    this.#bytes = bytes;
  }

  read(size) {
    if (this.#at + size > this.#bytes.length) throw new Error('the request ends in the middle');
    return this.#bytes.slice(this.#at, (this.#at += size));
  }

  readLine() {
    if (this.#at === this.#bytes.length) return null;
    const end = this.#bytes.indexOf(10, this.#at);
    const line = new TextDecoder().decode(this.#bytes.subarray(this.#at, end));
    this.#at = end + 1;
    return line;
  }

  write(content) {
    this.reply.push(content);
  }

  file = (path) => get(`./file?${encodeURIComponent(path)}`);
}

/** The current exchange. */
let exchange = new Exchange(new Uint8Array(0));
const stream = {
  read: (size) => exchange.read(size),
  readLine: () => exchange.readLine(),
  write: (content) => exchange.write(content),
  file: (path) => exchange.file(path),
};

try {
  const gpu = await Gpu.open({ float16: settings.has('float16'), software: true });
  const tvm = await Tvm.start(await get('./runtime'), { threads, gpu });
  const devices = { cpu: new Host(tvm), webgpu: new OnGpu(tvm, gpu) };
  const serving = new Serving({ tvm, devices, features: features(), stream });
  for (;;) {
    const request = await checked(await fetch('./request'));
    if (request.status === 204) continue; // no request within the server's timeout
    exchange = new Exchange(new Uint8Array(await request.arrayBuffer()));
    await serving.run();
    await post('./reply', new Blob(exchange.reply));
  }
} catch (error) {
  await post('./failure', error.stack ?? String(error));
}
