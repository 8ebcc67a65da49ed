/** 16-bit PCM: samples from bytes, and WAV files. */

const SCALE = 32768;

/** Reader of little-endian 16-bit samples in pieces of any size. */
export class PcmReader {
  #odd = /** @type {number | null} */ (null); // the first byte of an incomplete sample

  /** @param {Uint8Array} bytes @returns {Float32Array} -1 to 1 */
  push(bytes) {
    if (!bytes.length) return new Float32Array(0);
    const carried = this.#odd === null ? 0 : 1;
    const count = (bytes.length + carried) >> 1;
    const samples = new Float32Array(count);
    for (let place = 0; place < count; place++) {
      const low = 2 * place - carried;
      const first = low < 0 ? /** @type {number} */ (this.#odd) : bytes[low];
      samples[place] = (((first | (bytes[low + 1] << 8)) << 16) >> 16) / SCALE;
    }
    const rest = 2 * count - carried;
    this.#odd = rest < bytes.length ? bytes[rest] : null;
    return samples;
  }
}

/** @param {string} text base64 @returns {Uint8Array} */
export function fromBase64(text) {
  const native = /** @type {{fromBase64?: (text: string) => Uint8Array}} */ (/** @type {unknown} */ (Uint8Array)).fromBase64;
  if (native) return native.call(Uint8Array, text); // new, and many times faster
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let place = 0; place < binary.length; place++) bytes[place] = binary.charCodeAt(place);
  return bytes;
}

/**
 * @param {Float32Array[]} pieces mono samples, -1 to 1; what is beyond is cut
 * @param {number} sampleRate
 * @returns {Uint8Array[]} a WAV file of 16 bits: its header, then a part for each piece
 */
export function wavFile(pieces, sampleRate) {
  const bytes = 2 * pieces.reduce((sum, piece) => sum + piece.length, 0);
  const header = new DataView(new ArrayBuffer(44));
  const ascii = (/** @type {number} */ at, /** @type {string} */ text) =>
    [...text].forEach((char, place) => header.setUint8(at + place, char.charCodeAt(0)));
  ascii(0, "RIFF");
  header.setUint32(4, 36 + bytes, true);
  ascii(8, "WAVEfmt ");
  header.setUint32(16, 16, true);
  header.setUint16(20, 1, true); // PCM
  header.setUint16(22, 1, true); // mono
  header.setUint32(24, sampleRate, true);
  header.setUint32(28, 2 * sampleRate, true);
  header.setUint16(32, 2, true);
  header.setUint16(34, 16, true);
  ascii(36, "data");
  header.setUint32(40, bytes, true);
  return [new Uint8Array(header.buffer), ...pieces.map(toBytes)];
}

/**
 * Convert to 16-bit samples.
 * @param {Float32Array} samples -1 to 1; what is beyond is cut
 * @returns {Int16Array}
 */
export function toInt16(samples) {
  return Int16Array.from(samples, (sample) => Math.max(-SCALE, Math.min(SCALE - 1, Math.round(sample * SCALE))));
}

/** @param {Float32Array} samples @returns {Uint8Array} little-endian */
function toBytes(samples) {
  const view = new DataView(new ArrayBuffer(2 * samples.length));
  toInt16(samples).forEach((sample, place) => view.setInt16(2 * place, sample, true));
  return new Uint8Array(view.buffer);
}
