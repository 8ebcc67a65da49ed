/**
 * Service worker that answers for a site from its cache, so that the page opens offline and all files are of one
 * version.
 *
 * `kokoro-tvm web` writes `SITE` before this text: path -> sha256 of the files of a version, and a digest of them. A
 * new version is a new text, which the browser installs next to the old one. Pieces of the bundle are not among the
 * files: runtime/pieces.js keeps them.
 */

const { scope } = self.registration;
const CACHES = `kokoro-tvm-site ${scope} `; // prefix of their names
const CACHE = CACHES + SITE.version;
/** Headers that threads need and not every host sends. */
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

/** Fetch all files of this version, or fail to install. */
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

/** Replace the previous version, unless another tab with its files is open. */
async function takeOver() {
  const tabs = await self.clients.matchAll({ includeUncontrolled: true, type: "window" });
  if (tabs.filter(({ url }) => url.startsWith(scope)).length <= 1) await self.skipWaiting();
}

async function answer(path) {
  const cache = await caches.open(CACHE);
  return (await cache.match(address(path))) ?? fetched(path);
}

/** Fetch a file and check that it is of this version. */
async function fetched(path) {
  const response = await fetch(address(path), { cache: "no-cache" });
  const bytes = await response.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const sha256 = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (!response.ok || sha256 !== SITE.files[path]) throw new Error(`${path} is not of this version of the site`);
  return new Response(bytes, { headers: { "Content-Type": response.headers.get("Content-Type") ?? "", ...ISOLATED } });
}

/** Return the path of a file of the site, or null. */
function pathOf({ method, url }) {
  const { origin, pathname } = new URL(url);
  const result = origin + pathname;
  if (method !== "GET" || !result.startsWith(scope)) return null;
  const path = result.slice(scope.length) || "index.html";
  return Object.hasOwn(SITE.files, path) ? path : null;
}

const address = (path) => new URL(path, scope).href;
