import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { newMemory } from "../../kokoro_tvm/web/runtime/memory.js";

const { Memory } = WebAssembly;
const LIMITS = { initial: 32, maximum: 65536 };
let requests;

/** A browser that grants shared memories of so many pages at most. */
function granting(most) {
  requests = [];
  WebAssembly.Memory = function (limits) {
    requests.push(limits.maximum);
    if (limits.shared && limits.maximum > most) throw new RangeError("could not allocate memory");
    return new Memory(limits);
  };
}

beforeEach(() => granting(65536));
afterEach(() => {
  WebAssembly.Memory = Memory;
});

test("the whole limit where it is granted", () => {
  assert.ok(newMemory(LIMITS, true).buffer instanceof SharedArrayBuffer);
  assert.ok(newMemory(LIMITS, false).buffer instanceof ArrayBuffer);
  assert.deepEqual(requests, [65536, 65536]);
});

test("half of it again and again where less is granted", () => {
  granting(20000);
  assert.equal(newMemory(LIMITS, true).buffer.byteLength, 32 * 65536);
  assert.deepEqual(requests, [65536, 32768, 16384]);
});

test("the browser's error where not even 1 GiB is granted", () => {
  granting(16383);
  assert.throws(() => newMemory(LIMITS, true), { name: "RangeError", message: "could not allocate memory" });
  assert.deepEqual(requests, [65536, 32768, 16384]);
});

test("one thread's memory is not reserved, so less of it would change nothing", () => {
  WebAssembly.Memory = function () {
    throw new RangeError("no memory");
  };
  assert.throws(() => newMemory(LIMITS, false), { message: "no memory" });
});

test("a mistake in the limits is no lack of memory", () => {
  assert.throws(() => newMemory({ initial: 32, maximum: 16 }, true));
  assert.throws(() => newMemory({ initial: -1, maximum: 65536 }, true), TypeError);
});
