/** Files of a bundle in a folder: in parts, compared with the manifest. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Folder, below } from "../../kokoro_tvm/web/runtime/folder.js";

const CONTENT = Buffer.from(Uint8Array.from({ length: 3_000_001 }, (_, place) => place * 7));
const entry = (content = CONTENT) => ({
  file: "weights", size: content.length, sha256: createHash("sha256").update(content).digest("hex"),
});
const folder = await mkdtemp(join(tmpdir(), "kokoro-tvm-"));
await writeFile(join(folder, "weights"), CONTENT);
await writeFile(join(folder, "bundle.json"), `{"word": "${"ə".repeat(1_000_000)}"}`);
const files = new Folder(below(pathToFileURL(`${folder}/`)));

async function read(source, requested) {
  const parts = [];
  for await (const part of source.parts(requested)) parts.push(Buffer.from(part)); // a copy: the next may overwrite it
  return Buffer.concat(parts);
}

test("parts returns a whole file", async () => {
  assert.ok((await read(files, entry())).equals(CONTENT));
});

test("text joins parts at any place", async () => {
  assert.equal(JSON.parse(await files.text("bundle.json")).word.length, 1_000_000);
});

test("parts refuses a changed, shorter or longer file at its end", async () => {
  for (const other of [Buffer.from(CONTENT).fill(1, 5, 6), CONTENT.subarray(1), Buffer.concat([CONTENT, CONTENT])]) {
    await assert.rejects(read(files, entry(other)), {
      name: "BundleError", message: new RegExp(`^weights has 3000001 bytes with sha256 ${entry().sha256}; the manifest names`),
    });
  }
});

test("parts refuses a name outside of the folder before opening it", async () => {
  const opened = [];
  const source = new Folder(async (name) => opened.push(name) && []);
  const names = [
    "", "..", "../x", "a/../../x", "/etc/passwd", "//host/x", "\\\\host\\x", "..\\..\\evil.dll", "C:evil.wasm", "x:stream",
    "https://host/x", "data:,x", "file:///etc/passwd", "..\t/x", "%2e%2e/x", "x?y", "x#y", undefined, 1, {},
  ];
  for (const file of names) {
    await assert.rejects(read(source, { ...entry(), file }), {
      name: "BundleError", message: /^bundle\.json: the file '.*' lies outside the bundle\. Build the bundle again\.$/,
    });
    await assert.rejects(source.range({ ...entry(), file }, 0, 1), { name: "BundleError" });
  }
  assert.deepEqual(opened, []);
});

test("json refuses a file without JSON", async () => {
  const source = new Folder(async () => [new TextEncoder().encode("<html>")]);
  await assert.rejects(source.json("bundle.json"), { name: "BundleError", message: /^bundle\.json is not JSON \(.*\)\. / });
});

test("text names a missing file", async () => {
  await assert.rejects(files.text("none"), { name: "BundleError", message: /^none cannot be had: ENOENT/ });
});
