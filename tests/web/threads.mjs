/* Calls functions of a library in Node: node threads.mjs WEB RUNTIME LIBRARY THREADS FUNCTION..., which prints what
 * each returned, or its error, as JSON. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const PATIENCE = 2; // seconds

const [web, runtime, library, threads, ...functions] = process.argv.slice(2);
const { Tvm } = await import(pathToFileURL(join(web, 'runtime', 'tvm.js')));

const tvm = await Tvm.start(await readFile(runtime), { threads: Number(threads), patience: PATIENCE });
const module = await tvm.compile(await readFile(library));
const [first, second] = [tvm.library(module), tvm.library(module)];
const results = functions.map((name) => {
  try {
    return first(name).call();
  } catch (error) {
    return error.message;
  }
});
console.log(JSON.stringify({ threads: tvm.threads, results, second: second('changed').call() }));
