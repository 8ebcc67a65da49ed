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

test("newMemory uses the whole limit if it is granted", () => {
  assert.ok(newMemory(LIMITS, true).buffer instanceof SharedArrayBuffer);
  assert.ok(newMemory(LIMITS, false).buffer instanceof ArrayBuffer);
  assert.deepEqual(requests, [65536, 65536]);
});

test("newMemory halves the limit until it is granted", () => {
  granting(20000);
  assert.equal(newMemory(LIMITS, true).buffer.byteLength, 32 * 65536);
  assert.deepEqual(requests, [65536, 32768, 16384]);
});

test("newMemory throws the browser's error below 1 GiB", () => {
  granting(16383);
  assert.throws(() => newMemory(LIMITS, true), { name: "RangeError", message: "could not allocate memory" });
  assert.deepEqual(requests, [65536, 32768, 16384]);
});

test("newMemory of one thread does not halve the limit", () => {
  WebAssembly.Memory = function () {
    throw new RangeError("no memory");
  };
  assert.throws(() => newMemory(LIMITS, false), { message: "no memory" });
});

test("newMemory throws a mistake in the limits", () => {
  assert.throws(() => newMemory({ initial: 32, maximum: 16 }, true));
  assert.throws(() => newMemory({ initial: -1, maximum: 65536 }, true), TypeError);
});
