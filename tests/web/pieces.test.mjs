/** Files in pieces: fetched once, compared, kept, and gone on with after the connection was lost. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import { afterEach, beforeEach, mock, test } from "node:test";
import { Pieces } from "../../kokoro_tvm/web/runtime/pieces.js";

const BASE = new URL("https://site.example/app/bundle/");
const LIST = `${BASE}pieces.json`;
/** As pieces.py writes it: with the bytes of every `width` apart, as zlib packs them. */
const packed = (bytes, width) => {
  const planes = Array.from({ length: width }, (_, plane) => bytes.filter((_, place) => place % width === plane));
  return new Uint8Array(deflateSync(Buffer.concat(planes)));
};
const WIDTH = 2;
const sent = (...pieces) => pieces.reduce((sum, item) => sum + packed(item, WIDTH).length, 0);
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const pathOf = (bytes, site = "https://site.example/app/pieces/") => `kokoro-tvm-pieces/${sha256(site)}/${sha256(bytes)}`;
const pieceUrl = (bytes) => `https://site.example/app/pieces/${sha256(bytes)}`;
const filled = (value, size = 1000) => Uint8Array.from({ length: size }, (_, place) => value * place * place);
const entry = (file, ...pieces) => ({
  file,
  size: pieces.reduce((sum, { length }) => sum + length, 0),
  sha256: sha256(Buffer.concat(pieces)),
});

/** A whole file. */
async function read(pieces, file) {
  const parts = [];
  for await (const part of pieces.parts(file)) parts.push(part.slice()); // it is gone with the next
  return new Uint8Array(Buffer.concat(parts));
}

/** What the server has: address -> bytes, a function that gives a response, or nothing. */
let server;
/** What the browser keeps: path -> bytes; and paths that another tab has open. */
let kept;
let open;
let requests;
let full;

/** The private file system of an origin, as far as it is used. */
class Folder {
  constructor(path) {
    this.path = path;
  }
  async getDirectoryHandle(name) {
    return new Folder(`${this.path}${name}/`);
  }
  async *keys() {
    for (const path of kept.keys()) if (path.startsWith(this.path)) yield path.slice(this.path.length);
  }
  async getFileHandle(name, { create = false } = {}) {
    const path = this.path + name;
    if (!create && !kept.has(path)) throw new DOMException("not there", "NotFoundError");
    return new FileHandle(path);
  }
  async removeEntry(name) {
    if (!kept.delete(this.path + name)) throw new DOMException("not there", "NotFoundError");
  }
}
class FileHandle {
  constructor(path) {
    this.path = path;
  }
  async createSyncAccessHandle() {
    if (open.has(this.path)) throw new DOMException("open", "NoModificationAllowedError");
    return {
      getSize: () => kept.get(this.path).length,
      read: (room) => (room.set(kept.get(this.path)), kept.get(this.path).length),
      write: (bytes) => {
        if (full) throw new DOMException("full", "QuotaExceededError");
        kept.set(this.path, bytes.slice());
        return bytes.length;
      },
      truncate: (size) => assert.equal(kept.get(this.path).length, size),
      close() {},
    };
  }
  async getFile() {
    return new Blob([kept.get(this.path)]);
  }
}

beforeEach(() => {
  open = new Set();
  [server, kept, requests, full] = [new Map(), new Map(), [], false];
  mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.FileSystemFileHandle = FileHandle;
  Object.defineProperty(globalThis, "navigator", { value: { storage: { getDirectory: async () => new Folder("") } }, configurable: true });
  mock.method(globalThis, "fetch", async (url) => {
    requests.push(String(url));
    const result = server.get(String(url));
    if (typeof result === "function") return result();
    return result ? new Response(result) : new Response("", { status: 404 });
  });
});

afterEach(() => {
  mock.restoreAll();
  mock.timers.reset();
  delete globalThis.FileSystemFileHandle;
});

const entryOf = (item) => [sha256(item), item.length, WIDTH, packed(item, WIDTH).length];

/** Puts files on the server: name -> pieces. */
function put(files, apart = "") {
  const listed = {};
  for (const [name, pieces] of Object.entries(files)) {
    listed[name] = { sha256: sha256(Buffer.concat(pieces)), apart: name === apart, pieces: pieces.map(entryOf) };
    for (const item of pieces) server.set(pieceUrl(item), packed(item, WIDTH));
  }
  server.set(LIST, JSON.stringify({ schema: 2, files: listed }));
}

/** Lets time pass until a promise is settled. */
async function passed(promise) {
  let settled = false;
  const done = () => (settled = true);
  promise.then(done, done);
  while (!settled) {
    mock.timers.tick(1000);
    await new Promise(setImmediate);
  }
  return promise;
}

const lost = () => Promise.reject(new TypeError("network error"));
/** A response whose connection is lost in the middle. */
function broken(bytes) {
  let sent = false;
  const pull = (controller) => {
    if (sent) controller.error(new TypeError("network error"));
    else controller.enqueue(bytes.subarray(0, bytes.length / 2));
    sent = true;
  };
  return () => new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
}

const [a, b, c] = [filled(1), filled(2), filled(3, 10)];

test("range fetches the pieces of a file that is read apart", async () => {
  const [head, first, second, after] = [1, 2, 3, 4].map((value) => filled(value));
  put({ "voices.bin": [head, first, second], "code.bin": [after] }, "voices.bin");
  const reports = [];
  const pieces = await Pieces.open(BASE, (progress) => reports.push(progress));
  const voices = entry("voices.bin", head, first, second);
  assert.deepEqual(await read(pieces, entry("code.bin", after)), after);
  assert.deepEqual(requests, [LIST, pieceUrl(after)]);
  assert.deepEqual(await pieces.range(voices, 8, 12), head.slice(8, 12));
  assert.deepEqual(await pieces.range(voices, 1990, 2500), new Uint8Array([...first.slice(990), ...second.slice(0, 500)]));
  assert.deepEqual(requests.slice(2), [head, first, second].map(pieceUrl));
  assert.equal(reports.at(-1).total, sent(after));
  assert.equal(reports.at(-1).loaded, sent(after));
  const again = await Pieces.open(BASE);
  assert.deepEqual(await again.range(voices, 1000, 2000), first);
  assert.equal(requests.length, 6); // the list once more
  await again.removeOthers();
  assert.equal(kept.size, 4);
});

test("parts joins pieces, and a second visit fetches none", async () => {
  put({ weights: [a, b, c], voices: [b] });
  const pieces = await Pieces.open(BASE);
  assert.deepEqual(await read(pieces, entry("weights", a, b, c)), new Uint8Array(Buffer.concat([a, b, c])));
  assert.deepEqual(await read(pieces, entry("voices", b)), b);
  assert.deepEqual(requests.slice(1).sort(), [a, b, c].map(pieceUrl).sort());
  requests = [];
  const progress = [];
  const again = await Pieces.open(BASE, (item) => progress.push(item));
  assert.deepEqual(await read(again, entry("voices", b)), b);
  assert.deepEqual(requests, [LIST]);
  const all = sent(a, b, c);
  assert.deepEqual(progress.at(-1), { loaded: all, total: all, kept: all, offline: false, full: false });
});

test("parts fetches shared pieces of two bundles once", async () => {
  put({ weights: [a, b] });
  await read(await Pieces.open(BASE), entry("weights", a, b));
  put({ weights: [a, c] });
  requests = [];
  const pieces = await Pieces.open(BASE);
  await read(pieces, entry("weights", a, c));
  assert.deepEqual(requests, [LIST, pieceUrl(c)]);
  const other = pathOf(a, "https://site.example/other/pieces/");
  kept.set(other, a);
  await pieces.removeOthers();
  assert.deepEqual([...kept.keys()].sort(), [pathOf(a), pathOf(c), other].sort());
});

test("parts repeats only the interrupted piece, and counts it once", async () => {
  put({ weights: [a, b] });
  const [good, answers] = [server.get(pieceUrl(b)), [lost, broken(packed(b, WIDTH)), () => new Response("", { status: 503 })]];
  server.set(pieceUrl(b), () => (answers.shift() ?? (() => new Response(good)))());
  const progress = [];
  const pieces = await Pieces.open(BASE, (item) => progress.push(item));
  assert.deepEqual((await passed(read(pieces, entry("weights", a, b)))).length, 2000);
  assert.equal(requests.filter((url) => url === pieceUrl(b)).length, 4);
  assert.equal(requests.filter((url) => url === pieceUrl(a)).length, 1);
  assert.equal(progress.at(-1).loaded, sent(a, b));
  assert.equal(Math.max(...progress.map(({ loaded }) => loaded)), sent(a, b));
});

test("parts holds at most six pieces", async () => {
  const many = Array.from({ length: 20 }, (_, place) => filled(place + 1));
  put({ weights: many });
  const parts = (await Pieces.open(BASE)).parts(entry("weights", ...many));
  await parts.next();
  for (let turn = 0; turn < 50; ++turn) await new Promise(setImmediate);
  assert.equal(requests.length, 1 + 6);
  for (let place = 1; place < many.length; ++place) assert.deepEqual((await parts.next()).value, many[place]);
  assert.equal((await parts.next()).done, true);
});

test("parts fetches the next file ahead", async () => {
  put({ weights: [a], voices: [b, c] });
  const pieces = await Pieces.open(BASE);
  await read(pieces, entry("weights", a));
  requests = [];
  assert.equal((await read(pieces, entry("voices", b, c))).length, 1010);
  assert.deepEqual(requests, []);
});

test("parts ends its attempts, and a new call continues", async () => {
  put({ weights: [a, b] });
  server.set(pieceUrl(b), lost);
  const first = await Pieces.open(BASE);
  await assert.rejects(passed(read(first, entry("weights", a, b))), { name: "ConnectionError" });
  assert.equal(requests.filter((url) => url === pieceUrl(b)).length, 5);
  while (!kept.has(pathOf(a))) await new Promise(setImmediate);
  server.set(pieceUrl(b), packed(b, WIDTH));
  requests = [];
  await read(await Pieces.open(BASE), entry("weights", a, b));
  assert.deepEqual(requests, [LIST, pieceUrl(b)]);
});

test("parts asks a silent server again after half a minute", async () => {
  put({ weights: [a] });
  let count = 0;
  mock.method(globalThis, "fetch", async (url, { signal } = {}) => {
    if (String(url) === LIST) return new Response(server.get(LIST));
    if (count++) return new Response(packed(a, WIDTH));
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  assert.deepEqual(await passed(read(await Pieces.open(BASE), entry("weights", a))), a);
  assert.equal(count, 2);
});

test("parts waits for a connection and reports it", async () => {
  put({ weights: [a] });
  server.set(pieceUrl(a), lost);
  const had = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { onLine: false }, configurable: true });
  try {
    const progress = [];
    const pieces = await Pieces.open(BASE, (item) => progress.push(item));
    const reading = read(pieces, entry("weights", a));
    while (!progress.some(({ offline }) => offline)) await new Promise(setImmediate);
    server.set(pieceUrl(a), packed(a, WIDTH));
    navigator.onLine = true;
    assert.deepEqual(await passed(reading), a);
    assert.equal(progress.at(-1).offline, false);
  } finally {
    if (had) Object.defineProperty(globalThis, "navigator", had);
    else delete globalThis.navigator;
  }
});

test("parts fetches a wrong piece again, and refuses it in the end", async () => {
  put({ weights: [a, b] });
  const good = packed(a, WIDTH);
  const answers = [good.subarray(0, good.length - 5), a];
  server.set(pieceUrl(a), () => new Response(answers.shift() ?? packed(b, WIDTH)));
  await assert.rejects(passed(read(await Pieces.open(BASE), entry("weights", a, b))), {
    name: "BundleError",
    message: new RegExp(`^A piece of weights has not the 1000 bytes with sha256 ${sha256(a)} that the list names`),
  });
  assert.ok(!kept.has(pathOf(a)));
});

test("parts verifies stored pieces, and fetches damaged ones again", async () => {
  put({ weights: [a, b] });
  kept.set(pathOf(a), b);
  const pieces = await Pieces.open(BASE);
  assert.deepEqual((await read(pieces, entry("weights", a, b))).subarray(0, 1000), a);
  kept.delete(pathOf(b));
  assert.deepEqual((await read(pieces, entry("weights", a, b))).subarray(1000), b);
});

test("parts shares stored pieces between tabs", async () => {
  put({ weights: [a, b] });
  kept.set(pathOf(a), a);
  open.add(pathOf(a)).add(pathOf(b));
  const result = await read(await Pieces.open(BASE), entry("weights", a, b));
  assert.deepEqual(result, new Uint8Array(Buffer.concat([a, b])));
  assert.deepEqual(requests, [LIST, pieceUrl(b)]);
  assert.deepEqual([...kept.keys()], [pathOf(a)]);
});

test("parts reuses the memory of earlier pieces", async () => {
  const many = Array.from({ length: 20 }, (_, place) => filled(place + 1));
  put({ weights: many });
  await read(await Pieces.open(BASE), entry("weights", ...many));
  const buffers = new Set();
  for await (const part of (await Pieces.open(BASE)).parts(entry("weights", ...many))) buffers.add(part.buffer);
  assert.ok(buffers.size <= 7, `${buffers.size}`);
});

test("parts works without storage", async () => {
  put({ weights: [a, b] });
  full = true;
  const progress = [];
  const pieces = await Pieces.open(BASE, (item) => progress.push(item));
  assert.equal((await read(pieces, entry("weights", a, b))).length, 2000);
  assert.equal(progress.at(-1).full, true);
  assert.equal(kept.size, 0);
  navigator.storage.getDirectory = () => Promise.reject(new DOMException("insecure", "SecurityError"));
  const none = await Pieces.open(BASE);
  assert.equal((await read(none, entry("weights", a, b))).length, 2000);
});

test("parts reports a changed site at once", async () => {
  put({ weights: [a] });
  server.delete(pieceUrl(a));
  const pieces = await Pieces.open(BASE);
  await assert.rejects(read(pieces, entry("weights", a)), { name: "BundleError", message: /the site has changed/ });
  assert.equal(requests.length, 2);
  await assert.rejects(read(pieces, entry("weights", b)), { name: "BundleError", message: /the site has changed/ });
});

test("open selects the bundle for relaxed SIMD", async () => {
  const [plain, relaxed] = [filled(1), filled(2)];
  put({ code: [relaxed] });
  const other = new URL("../bundle-relaxed/", BASE);
  server.set(`${other}pieces.json`, server.get(LIST));
  put({ code: [plain] });
  server.set(LIST, JSON.stringify({ ...JSON.parse(server.get(LIST)), relaxed: "../bundle-relaxed/" }));
  const compiles = mock.method(WebAssembly, "validate", () => true);
  const chosen = await Pieces.open(BASE);
  assert.equal(String(chosen.base), String(other));
  assert.deepEqual(await read(chosen, entry("code", relaxed)), relaxed);
  compiles.mock.mockImplementation(() => false);
  const first = await Pieces.open(BASE);
  assert.equal(first.base, BASE);
  assert.deepEqual(await read(first, entry("code", plain)), plain);
});

test("open returns null without a list, and refuses another schema", async () => {
  assert.equal(await Pieces.open(BASE), null);
  server.set(LIST, JSON.stringify({ schema: 3, files: {} }));
  await assert.rejects(Pieces.open(BASE), { name: "BundleError", message: /schema 3; this version reads 2/ });
});
