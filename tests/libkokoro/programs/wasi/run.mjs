// node run.mjs PROGRAM FOLDER CODE < lines: what text.c prints, as WebAssembly; FOLDER has front_end.safetensors.
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const [program, folder, code] = process.argv.slice(2);
const args = ["text", "/data/front_end.safetensors", code];
const wasi = new WASI({ version: "preview1", args, preopens: { "/data": folder } });
const { instance } = await WebAssembly.instantiate(readFileSync(program), wasi.getImportObject());
wasi.start(instance);
