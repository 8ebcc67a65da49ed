/**
 * Tasks of a parallel call that threads take one by one: integers in shared memory.
 *
 * Taking a task decrements a counter that also contains the number of the call. A delayed thread finds another number,
 * and takes no task of a call that it does not know.
 */

const CALL = 0; // the number of the call, and in the lowest bits the remaining tasks
const DONE = 1; // finished tasks of this call
const COUNT = 2; // tasks of this call
const RUN = 3; // place of the task's function in the table
const GROUP = 4; // its arguments
const DATA = 5;
const LIBRARIES = 6; // libraries that all threads have to load
const LOADED = 7; // threads that loaded the last one
const FAILED = 8; // bytes of the message of a failed task
const MESSAGE = 9;
const LEFT_BITS = 8;
const LEFT = (1 << LEFT_BITS) - 1;
const MESSAGE_BYTES = 512;
const SECOND = 1000;

/** Maximum number of tasks of a call, and so of threads. */
export const MOST = LEFT;

/** State that the threads of a runtime share. */
export class Tasks {
  /** @param {SharedArrayBuffer} [buffer] of another thread's tasks */
  constructor(buffer = new SharedArrayBuffer(MESSAGE * 4 + MESSAGE_BYTES)) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer);
  }

  /** Begin a call. @param {number} count of tasks */
  begin(count, run, group, data) {
    for (const [place, value] of [[RUN, run], [GROUP, group], [DATA, data], [COUNT, count], [DONE, 0]]) {
      Atomics.store(this.words, place, value);
    }
    this.#next(count);
  }

  /** Run tasks until none is left. @param {WebAssembly.Table} table */
  run(table) {
    for (let call; (call = Atomics.load(this.words, CALL)) & LEFT; ) {
      const run = table.get(Atomics.load(this.words, RUN));
      const [group, data] = [Atomics.load(this.words, GROUP), Atomics.load(this.words, DATA)];
      const count = Atomics.load(this.words, COUNT);
      if (Atomics.compareExchange(this.words, CALL, call, call - 1) !== call) continue;
      try {
        const status = run((call & LEFT) - 1, group, data);
        if (status) throw new Error(`a task ended with status ${status}`);
      } catch (error) {
        this.#fail(error);
      }
      if (Atomics.add(this.words, DONE, 1) + 1 === count) Atomics.notify(this.words, DONE);
    }
  }

  /** Return when all tasks of the call have ended. Throws if one failed, see `#wait`. */
  end(patience) {
    const count = Atomics.load(this.words, COUNT);
    this.#wait(DONE, count, patience, 'finished its part of a call');
    this.check();
  }

  /**
   * Let every other thread load a library that was sent to them, and return when they have.
   * @param {number} others how many there are
   */
  load(others, patience) {
    Atomics.store(this.words, LOADED, 0);
    Atomics.add(this.words, LIBRARIES, 1);
    this.#next(0);
    this.#wait(LOADED, others, patience, 'loaded a library');
    this.check();
  }

  /** Run tasks until there are more than `libraries` libraries. */
  serve(table, libraries) {
    for (;;) {
      this.run(table);
      const call = Atomics.load(this.words, CALL);
      if (Atomics.load(this.words, LIBRARIES) > libraries) return;
      if (!(call & LEFT)) Atomics.wait(this.words, CALL, call);
    }
  }

  /** Load a library and notify the waiting thread. @param {() => void} load */
  loaded(load) {
    try {
      load();
    } catch (error) {
      this.#fail(error);
    }
    Atomics.add(this.words, LOADED, 1);
    Atomics.notify(this.words, LOADED);
  }

  /** Throw if a thread has failed. */
  check() {
    const size = Atomics.load(this.words, FAILED);
    if (!size) return;
    const text = new TextDecoder().decode(new Uint8Array(this.buffer, MESSAGE * 4, size).slice());
    throw new Error(`a thread failed, and with it the runtime: ${text}`);
  }

  #next(count) {
    const number = (Atomics.load(this.words, CALL) >>> LEFT_BITS) + 1;
    Atomics.store(this.words, CALL, (number << LEFT_BITS) | count);
    Atomics.notify(this.words, CALL);
  }

  /**
   * Wait for a counter. If it does not change for `patience` seconds, a thread has died. Seconds are counted one by
   * one, because a sleeping machine counts as one.
   */
  #wait(place, count, patience, what) {
    let still = 0;
    for (let result; (result = Atomics.load(this.words, place)) < count; ) {
      still = Atomics.wait(this.words, place, result, SECOND) === 'timed-out' ? still + 1 : 0;
      if (still >= patience) {
        this.#fail(new Error(`for ${patience} s, no thread ${what}; ${count - result} of ${count} are missing`));
        this.check();
      }
    }
  }

  #fail(error) {
    const text = new TextEncoder().encode(String(error.message || error)).slice(0, MESSAGE_BYTES);
    new Uint8Array(this.buffer).set(text, MESSAGE * 4);
    Atomics.store(this.words, FAILED, text.length);
  }
}
