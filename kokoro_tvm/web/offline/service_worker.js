/**
 * Answers for a site from what it keeps, so that the page opens without a connection, and is of one version.
 *
 * `kokoro-tvm web` writes `SITE` before this text: the files of a version, path -> sha256, and a digest of them. Another
 * version is another text, which the browser notices and installs beside this one. Pieces of the bundle are not among
 * the files: who loads them keeps them (runtime/pieces.js).
 */

const { scope } = self.registration;
const CACHES = `kokoro-tvm-site ${scope} `; // the first part of their names
const CACHE = CACHES + SITE.version;
/** Threads need them, and not every host sends them. */
const ISOLATED = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
};

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(removeOthers()));
self.addEventListener("message", (event) => event.waitUntil(takeOver()));
self.addEventListener("fetch", (event) => {
  const path = pathOf(event.request);
  if (path !== null) event.respondWith(answer(path));
});

/** All files of this version are there, or it is not installed. */
async function install() {
  const cache = await caches.open(CACHE);
  try {
    await Promise.all(Object.keys(SITE.files).map(async (path) => cache.put(address(path), await fetched(path))));
  } catch (error) {
    await caches.delete(CACHE);
    throw error;
  }
}

async function removeOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(CACHES) && name !== CACHE).map((name) => caches.delete(name)));
}

/** Takes the place of the version before it, unless another tab is open that has files of that one. */
async function takeOver() {
  const tabs = await self.clients.matchAll({ includeUncontrolled: true, type: "window" });
  if (tabs.filter(({ url }) => url.startsWith(scope)).length <= 1) await self.skipWaiting();
}

async function answer(path) {
  const cache = await caches.open(CACHE);
  return (await cache.match(address(path))) ?? fetched(path);
}

/** A file from the server, if it is the one of this version. */
async function fetched(path) {
  const response = await fetch(address(path), { cache: "no-cache" });
  const bytes = await response.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const sha256 = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (!response.ok || sha256 !== SITE.files[path]) throw new Error(`${path} is not of this version of the site`);
  return new Response(bytes, { headers: { "Content-Type": response.headers.get("Content-Type") ?? "", ...ISOLATED } });
}

/** The path of a file of the site; null for everything else. */
function pathOf({ method, url }) {
  const { origin, pathname } = new URL(url);
  const found = origin + pathname;
  if (method !== "GET" || !found.startsWith(scope)) return null;
  const path = found.slice(scope.length) || "index.html";
  return Object.hasOwn(SITE.files, path) ? path : null;
}

const address = (path) => new URL(path, scope).href;
