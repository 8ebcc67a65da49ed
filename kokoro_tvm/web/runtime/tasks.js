/** The tasks of a parallel call, which threads take one by one: integers in memory that they share.
 *
 * A task is taken by counting down those that are left, together with the number of the call: who was held up
 * since it looked finds another number, and takes nothing of a call that it knows nothing of.
 */

const CALL = 0; // the call's number, and in the lowest bits how many tasks nobody has taken
const DONE = 1; // tasks of this call that ended
const COUNT = 2; // tasks of this call
const RUN = 3; // what runs one: its place in the table
const GROUP = 4; // its arguments
const DATA = 5;
const LIBRARIES = 6; // how many all threads are to have
const LOADED = 7; // by how many of the threads the last of them was loaded
const FAILED = 8; // how many bytes of a message follow, where a task failed
const MESSAGE = 9;
const LEFT_BITS = 8;
const LEFT = (1 << LEFT_BITS) - 1;
const MESSAGE_BYTES = 512;
const SECOND = 1000;

/** How many tasks a call can have, and so how many threads there can be. */
export const MOST = LEFT;

/** What the threads of one runtime share. */
export class Tasks {
  /** @param {SharedArrayBuffer} [buffer] of another thread's tasks */
  constructor(buffer = new SharedArrayBuffer(MESSAGE * 4 + MESSAGE_BYTES)) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer);
  }

  /** Begins a call. @param {number} count of tasks */
  begin(count, run, group, data) {
    for (const [place, value] of [[RUN, run], [GROUP, group], [DATA, data], [COUNT, count], [DONE, 0]]) {
      Atomics.store(this.words, place, value);
    }
    this.#next(count);
  }

  /** Takes tasks until none is left. @param {WebAssembly.Table} table */
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

  /** Returns when all tasks of the call have ended; throws where one failed, see `#wait`. */
  end(patience) {
    const count = Atomics.load(this.words, COUNT);
    this.#wait(DONE, count, patience, 'finished its part of a call');
    this.check();
  }

  /** Has every other thread load a library, which was sent to them, and returns when they have.
   * @param {number} others how many there are
   */
  load(others, patience) {
    Atomics.store(this.words, LOADED, 0);
    Atomics.add(this.words, LIBRARIES, 1);
    this.#next(0);
    this.#wait(LOADED, others, patience, 'loaded a library');
    this.check();
  }

  /** Takes tasks, until there are more libraries than so many. */
  serve(table, libraries) {
    for (;;) {
      this.run(table);
      const call = Atomics.load(this.words, CALL);
      if (Atomics.load(this.words, LIBRARIES) > libraries) return;
      if (!(call & LEFT)) Atomics.wait(this.words, CALL, call);
    }
  }

  /** Loads a library, and lets the thread that waits for it know. @param {() => void} load */
  loaded(load) {
    try {
      load();
    } catch (error) {
      this.#fail(error);
    }
    Atomics.add(this.words, LOADED, 1);
    Atomics.notify(this.words, LOADED);
  }

  /** Throws where a thread has failed. */
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

  /** Waits for a count. One that stands still for `patience` seconds is a thread that has died; they are
   * counted one by one, because a machine that sleeps counts as one. */
  #wait(place, count, patience, what) {
    let still = 0;
    for (let found; (found = Atomics.load(this.words, place)) < count; ) {
      still = Atomics.wait(this.words, place, found, SECOND) === 'timed-out' ? still + 1 : 0;
      if (still >= patience) {
        this.#fail(new Error(`for ${patience} s, no thread ${what}; ${count - found} of ${count} are missing`));
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
