/* Speaks for kokoro_tvm.tools.bench.web: lines of JSON on standard input, an answer to each. The first request opens a system,
 * {kind: "bundle", web, path, threads} or {kind: "onnx", module, path, threads}; the others are utterances,
 * {tokens, style}, answered with seconds of computing, samples, and the most memory so far. */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const KIB = 1024;

/** Our modules, as the worker of a page calls them. */
async function bundle({ web, path, threads }) {
  const load = (name) => import(`${pathToFileURL(web)}/runtime/${name}`);
  const [{ Bundle }, { Folder, below }, { Model }] = await Promise.all(['bundle.js', 'folder.js', 'model.js'].map(load));
  const model = new Model(await Bundle.open(new Folder(below(pathToFileURL(`${path}/`))), { threads }));
  const seed = Uint32Array.of(0, 0, 0);
  return async (tokens, style) => {
    const row = Float32Array.from(style);
    const { durations, features } = await model.predict(tokens, row);
    const frames = [...durations].map((duration) => Math.max(1, Math.round(duration)));
    return (await model.decode(tokens, row, frames, features, seed)).length;
  };
}

/** ONNX Runtime Web with its backend for WebAssembly. */
async function onnx({ module, path, threads }) {
  const { default: ort } = await import(pathToFileURL(module));
  ort.env.wasm.numThreads = threads;
  const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(path)), { executionProviders: ['wasm'] });
  return async (tokens, style) => {
    const found = await session.run({
      input_ids: new ort.Tensor('int64', BigInt64Array.from(tokens, BigInt), [1, tokens.length]),
      style: new ort.Tensor('float32', Float32Array.from(style), [1, style.length]),
      speed: new ort.Tensor('float32', Float32Array.of(1), [1]),
    });
    return found[session.outputNames[0]].data.length;
  };
}

const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const peak = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf-8'))[1]) * KIB;

process.on('uncaughtException', (error) => {
  console.error(`${error.name}: ${error.message}`); // in one line: the last ones of the log are what is shown
  process.exit(1);
});

let speak = null;
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const started = performance.now();
  let samples = 0;
  if (speak) samples = await speak(request.tokens, request.style);
  else speak = await { bundle, onnx }[request.kind](request);
  answer({ seconds: (performance.now() - started) / 1000, samples, peak_rss_bytes: peak() });
}
