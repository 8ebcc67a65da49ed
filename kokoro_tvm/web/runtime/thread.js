/** Worker that is a thread of a runtime: see `threads.js`. */

import { mirror } from './library.js';
import { Tasks } from './tasks.js';

const port = globalThis.postMessage ? globalThis : (await import('node:worker_threads')).parentPort;
let runtime;
let tasks;
let libraries = 0;

function start({ runtime: module, memory, stack, tasks: buffer }) {
  const imports = { env: { memory } };
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (kind === 'function') (imports[from] ??= {})[name] = refused(name);
  }
  const { exports } = new WebAssembly.Instance(module, imports);
  exports.__stack_pointer.value = stack;
  // TVM keeps errors in memory of one thread.
  const raise = { TVMFFIErrorSetRaisedFromCStrParts: refused('TVMFFIErrorSetRaisedFromCStrParts') };
  runtime = { ...exports, memory, ...raise };
  tasks = new Tasks(buffer);
}

/** Return an import that throws: a thread computes and calls nothing else. */
function refused(name) {
  return () => {
    throw new Error(`compiled code called ${name} in a thread`);
  };
}

port.onmessage = ({ data }) => {
  if (data.place) {
    tasks.loaded(() => mirror(runtime, data.place));
    libraries += 1;
  } else {
    try {
      start(data);
      port.postMessage({});
    } catch (error) {
      port.postMessage({ error: error.message });
      return;
    }
  }
  tasks.serve(runtime.__indirect_function_table, libraries);
};
