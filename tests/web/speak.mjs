/* Speaks an utterance in Node with the modules of a page: node speak.mjs WEB BUNDLE REQUEST.json OUT, where OUT gets
 * the samples and standard output the durations, the size of the memory and the number of threads. */
import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [web, folder, request, out] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(web, 'runtime', name)));
const { Bundle } = await load('bundle.js');
const { Folder } = await load('folder.js');
const { Model } = await load('model.js');

const { tokens, style, seed, threads } = JSON.parse(await readFile(request, 'utf-8'));
const files = new Folder(async (name) => createReadStream(join(folder, name)));
try {
  const bundle = await Bundle.open(files, { threads });
  const model = new Model(bundle);
  const row = Float32Array.from(style);
  const { durations, features } = await model.predict(tokens, row);
  const frames = [...durations].map((duration) => Math.max(1, Math.round(duration)));
  const audio = await model.decode(tokens, row, frames, features, Uint32Array.from([seed, 0, 0]));
  await writeFile(out, new Uint8Array(audio.buffer));
  console.log(JSON.stringify({ frames, memory: bundle.memory, threads: bundle.threads }));
} catch (error) {
  console.log(JSON.stringify({ error: error.name, message: error.message }));
}
