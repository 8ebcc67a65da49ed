/** Widens N.bin of a folder to N.out; standard input has the description of each in a line. */

import { readFileSync, writeFileSync } from "node:fs";
import { quantizedSize, widen, widenedSize } from "../../kokoro_tvm/web/runtime/quantized.js";

const folder = process.argv[2];
const lines = readFileSync(0, "utf-8").split("\n");
lines.forEach((line, place) => {
  const described = JSON.parse(line);
  const bytes = new Uint8Array(readFileSync(`${folder}/${place}.bin`)).slice();
  if (bytes.length !== quantizedSize(described)) throw new Error(`${bytes.length} bytes of ${line}`);
  const out = new Float32Array(widenedSize(described) / 4);
  widen(bytes, described, out);
  writeFileSync(`${folder}/${place}.out`, new Uint8Array(out.buffer));
});
