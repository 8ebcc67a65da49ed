/** Module worker that encodes one speech: see `mp3.js`. */

import { toInt16 } from "../wav.js";

const KILOBITS = 64; // per second, as the server's MP3
const PORTION = 1152 * 64; // samples per call of the encoder

self.onmessage = async ({ data: { module, pieces, sampleRate } }) => {
  try {
    const { Mp3Encoder } = await import(module);
    const encoder = new Mp3Encoder(1, sampleRate, KILOBITS);
    const parts = [];
    for (const piece of pieces) {
      const samples = toInt16(piece);
      for (let start = 0; start < samples.length; start += PORTION) {
        parts.push(encoder.encodeBuffer(samples.subarray(start, start + PORTION)));
      }
    }
    parts.push(encoder.flush());
    self.postMessage({ parts });
  } catch (error) {
    self.postMessage({ error: error.message });
  }
};
