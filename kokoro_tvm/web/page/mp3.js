/** MP3 file of a speech if the site has an encoder, computed in a worker. */

/** Return the address of the encoder's module, or null. @returns {string | null} */
export function encoder() {
  const { mp3 } = document.documentElement.dataset;
  return mp3 === undefined ? null : new URL(mp3, document.baseURI).href;
}

/**
 * Encode samples.
 * @param {string} module the encoder's address
 * @param {Float32Array[]} pieces mono samples, -1 to 1
 * @param {number} sampleRate
 * @returns {Promise<Blob>} rejected where the encoder cannot be loaded
 */
export async function mp3File(module, pieces, sampleRate) {
  const worker = new Worker(new URL("./mp3_worker.js", import.meta.url), { type: "module" });
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data: { parts, error } }) =>
        error === undefined ? resolve(new Blob(parts, { type: "audio/mpeg" })) : reject(new Error(error));
      worker.onerror = ({ message }) => reject(new Error(message || "A file of the page cannot be loaded."));
      worker.postMessage({ module, pieces, sampleRate });
    });
  } finally {
    worker.terminate();
  }
}
