/**
 * Server for `process.py` of code in WebAssembly and, if there is one, on a GPU. Requests and replies are those of
 * server.c. `server.mjs` has them from Node's standard input, `chromium.mjs` from a browser's connection.
 *
 * PLACE of an array: no memory can be protected here, so an array that is not `aligned` lies unaligned between words
 * that are NaN, different ones for each array. A kernel that reads there gets NaN, and a kernel that writes there is
 * found.
 */

const GUARD = 4096; // bytes
const WORD = 4;
const QUIET_NAN = 0xffc00000;
const CPU = 'cpu';
const CODES = { 0: 'int', 1: 'uint', 2: 'float' };
const WORDS = Object.fromEntries(Object.entries(CODES).map(([code, word]) => [word, code]));

/** Server that answers one request after the other. */
export class Serving {
  #tvm;
  #devices;
  #features;
  #stream;
  #libraries = new Map();
  #kept = new Map();
  #marks = 0;
  #requests = { features: () => this.#writeFeatures(), open: (w) => this.#open(w), keep: (w) => this.#keep(w), call: (w) => this.#call(w) };

  /**
   * tvm: the runtime; devices: `Host` as `cpu`, and others by kind; features: of the engine; stream: the connection
   * with `readLine()` (null at its end), `read(size)`, `write(content)` and `file(path)`, a promise
   */
  constructor({ tvm, devices, features, stream }) {
    this.#tvm = tvm;
    this.#devices = devices;
    this.#features = features;
    this.#stream = stream;
  }

  /** Answer all requests of the stream. */
  async run() {
    for (let line = this.#stream.readLine(); line !== null; line = this.#stream.readLine()) {
      const [word, ...words] = line.split(' ');
      try {
        await this.#requests[word](words);
      } catch (error) {
        const message = new TextEncoder().encode(error.message || String(error));
        this.#stream.write(`error ${message.length}\n`);
        this.#stream.write(message);
      }
    }
  }

  async #open([id, kind, device]) {
    const [path, kernels] = [this.#stream.readLine(), this.#stream.readLine()];
    this.#stream.readLine(); // the prefix of a system library
    const module = await this.#tvm.compile(await this.#stream.file(path));
    const { initialization } = this.#devices[device];
    const imported = kernels ? await this.#devices[device].kernels(await this.#stream.file(kernels)) : null;
    const opened = kind === 'vm' ? this.#tvm.machine(module, initialization, imported) : this.#tvm.library(module);
    this.#libraries.set(id, opened);
    this.#stream.write('ok 0\n');
  }

  #keep([id]) {
    const [device, ...words] = this.#stream.readLine().split(' ');
    this.#kept.set(id, this.#readArray(device, `kept ${id}`, words).tensor);
    this.#stream.write('ok 0\n');
  }

  async #call([id, name, count, what]) {
    const value = Array.from({ length: Number(count) }, (_, place) => {
      const [kind, ...words] = this.#stream.readLine().split(' ');
      if (kind === 'kept') return { tensor: this.#kept.get(words[0]), stays: true };
      return { device: kind, ...this.#readArray(kind, `argument ${place}`, words) };
    });
    const tensors = value.map(({ tensor }) => tensor);
    this.#tvm.global('vm.builtin.memory_manager.clear').call();
    const results = this.#libraries.get(id)(name).call(...tensors) ?? [];
    const outside = value.findIndex(({ stays, intact }) => !stays && !intact());
    if (outside >= 0) throw new Error(`${name} wrote outside its argument ${outside}`);
    const device = value.find((item) => item.device)?.device ?? CPU; // all arguments of a component lie on one device
    const result = [];
    for (const tensor of what === 'arguments' ? tensors : results) result.push(await this.#values(device, tensor));
    this.#stream.write(`ok ${result.length}\n`);
    result.forEach((item) => this.#writeArray(item));
    results.forEach((tensor) => tensor.free());
    value.filter(({ stays }) => !stays).forEach(({ tensor }) => tensor.free());
  }

  /** Return a tensor's type, shape and values, once a GPU has computed them. */
  async #values(device, tensor) {
    const { dtype, shape } = tensor;
    const values = device === CPU ? tensor.values() : await this.#devices[device].read({ tensor, shape });
    return { dtype, shape, bytes: new Uint8Array(values.buffer) };
  }

  /** Read an array: a tensor and what surrounds it. */
  #readArray(device, key, [code, bits, dimensions, ...rest]) {
    const tvm = this.#tvm;
    const shape = rest.slice(0, Number(dimensions)).map(Number);
    const place = rest[Number(dimensions)];
    const dtype = `${CODES[code]}${bits}`;
    const size = shape.reduce((product, extent) => product * extent, Number(bits) / 8);
    const content = this.#stream.read(size);
    if (place === 'aligned') {
      return { tensor: this.#devices[device].input(key, { values: content, shape }, dtype), intact: () => true };
    }
    if (device !== CPU) throw new Error(`arrays on ${device} are aligned`);
    if (size % WORD) throw new Error(`${size} bytes cannot lie between words`);
    const before = GUARD + (place === 'end' ? -size & 60 : Number(bits) / 8);
    const memory = tvm.allocate(before + size + GUARD);
    const mark = QUIET_NAN | (this.#marks++ & 0xfffff);
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

  #writeArray({ dtype, shape, bytes }) {
    const [, word, bits] = /^([a-z]+)(\d+)$/.exec(dtype);
    this.#stream.write(`${[WORDS[word], bits, shape.length, ...shape].join(' ')}\n`);
    this.#stream.write(bytes);
  }

  #writeFeatures() {
    const words = this.#features.join(' ');
    this.#stream.write(`ok 1\n1 8 1 ${words.length}\n${words}`);
  }
}
