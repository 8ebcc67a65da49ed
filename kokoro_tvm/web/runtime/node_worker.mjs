/** `worker.js` in a thread of Node, with the parts of a page's worker that Node lacks. */

import { open } from 'node:fs/promises';
import { webcrypto } from 'node:crypto';
import { Readable } from 'node:stream';
import { parentPort } from 'node:worker_threads';

const { fetch } = globalThis;

/** Return a file as a server would send it. */
async function fetchFile(url) {
  try {
    const file = await open(url);
    const { size } = await file.stat();
    return new Response(Readable.toWeb(file.createReadStream()), { headers: { 'Content-Length': String(size) } });
  } catch (error) {
    return new Response(null, { status: 404, statusText: error.message });
  }
}

globalThis.crypto ??= webcrypto; // Node 18
globalThis.fetch = (address, options) => {
  const url = new URL(address instanceof Request ? address.url : address);
  return url.protocol === 'file:' ? fetchFile(url) : fetch(address, options);
};
globalThis.self = globalThis;
globalThis.postMessage = (message, transferred) => parentPort.postMessage(message, transferred);

await import('./worker.js');
parentPort.on('message', (data) => self.onmessage({ data }));
