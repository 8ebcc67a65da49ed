/** Threads of the runtime: workers with its memory, and their own instances of it and of every library. */

import { MOST, Tasks } from './tasks.js';

const PAGE = 65536; // bytes
const STACK = 1 << 20; // bytes per thread, as many as the runtime's
const PATIENCE = 60; // seconds: on a busy machine, a task takes one

/**
 * Other threads of a runtime, which take part in its parallel calls. The calling thread has to be allowed to wait: a
 * worker, or Node.
 */
export class Threads {
  /**
   * @param {number} count of threads, the one that calls among them
   * @param {WebAssembly.Module} runtime which was not initialized yet: every instance writes its initial data
   * @param {WebAssembly.Memory} memory a shared one
   * @param {{patience?: number}} [options] seconds without progress after which a thread counts as dead
   * @returns {Promise<Threads>} rejected where a worker does not start
   */
  static async start(count, runtime, memory, { patience = PATIENCE } = {}) {
    if (!(count <= MOST)) throw new RangeError(`${count} threads are more than ${MOST}`);
    const threads = new Threads(count, patience);
    try {
      const starts = Array.from({ length: count - 1 }, () => threads.#add(runtime, memory));
      await Promise.all(starts);
    } catch (error) {
      threads.close();
      throw error;
    }
    return threads;
  }

  #workers = [];
  #tasks = new Tasks();
  #patience;

  constructor(count, patience) {
    this.count = count;
    this.#patience = patience;
  }

  /** Load a library in all threads. @param {import('./library.js').Place} place */
  load(place) {
    this.#workers.forEach((worker) => worker.postMessage({ place }));
    this.#tasks.load(this.#workers.length, this.#patience);
  }

  /**
   * Run the tasks of a parallel call. Throws if one fails; then no thread can be used any more.
   * @param {WebAssembly.Table} table
   * @param {number} run the place in it of what runs a task: (task, group, data) => status
   */
  launch(table, run, group, data) {
    this.#tasks.check();
    this.#tasks.begin(this.count, run, group, data);
    this.#tasks.run(table);
    this.#tasks.end(this.#patience);
    return 0;
  }

  close() {
    this.#workers.forEach((worker) => worker.terminate());
    this.#workers = [];
  }

  async #add(runtime, memory) {
    const worker = await newWorker(new URL('./thread.js', import.meta.url));
    this.#workers.push(worker);
    const stack = memory.grow(STACK / PAGE) * PAGE + STACK;
    await new Promise((resolve, reject) => {
      const fail = (error) => reject(new Error(`a thread cannot be started: ${error?.message ?? error}`));
      listen(worker, ({ error }) => (error ? fail(error) : resolve()), fail);
      worker.postMessage({ runtime, memory, stack, tasks: this.#tasks.buffer });
    });
  }
}

/** Start a worker of the browser or of Node, where it does not keep the process alive. */
async function newWorker(url) {
  if (globalThis.Worker) return new Worker(url, { type: 'module' });
  const { Worker: NodeWorker } = await import('node:worker_threads');
  // Else Node shares the program's output, which then fails for a slow reader.
  return new NodeWorker(url, { stdout: true, stderr: true });
}

function listen(worker, onMessage, onError) {
  if (worker.on) {
    worker.on('message', (data) => {
      worker.unref();
      onMessage(data);
    });
    worker.on('error', onError);
    worker.on('exit', (status) => onError(`it ended with status ${status}`));
  } else {
    worker.onmessage = ({ data }) => onMessage(data);
    worker.onerror = onError;
  }
}
