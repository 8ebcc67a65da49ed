/** Spectrogram of a speech on a canvas in the theme's colour, computed when its panel is open. */

import { levels, ROWS } from "./spectrum.js";

/** @typedef {import("./record.js").Record} Record */

const MOST_COLUMNS = 1200;

export class Spectrogram {
  #record = /** @type {Record | null} */ (null);
  #drawn = /** @type {Record | null} */ (null);
  #levels = /** @type {Uint8ClampedArray | null} */ (null);

  /** @param {HTMLDetailsElement} panel @param {HTMLCanvasElement} canvas in it; its CSS `color` is that of loud sound */
  constructor(panel, canvas) {
    this.panel = panel;
    this.canvas = canvas;
    panel.addEventListener("toggle", () => this.#compute());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refresh());
  }

  /** @param {Record | null} record that is done; null where there is none */
  show(record) {
    if (record === this.#record) return;
    this.#record = record;
    this.#drawn = null; // a record that was cut has other sound
    this.panel.hidden = !record;
    this.#compute();
  }

  /** Draw again with new colours. */
  refresh() {
    const pen = this.canvas.getContext("2d");
    if (!pen || !this.#levels) return;
    const columns = this.#levels.length / ROWS;
    const image = new ImageData(columns, ROWS);
    this.#levels.forEach((level, place) => (image.data[4 * place + 3] = level));
    [this.canvas.width, this.canvas.height] = [columns, ROWS];
    pen.putImageData(image, 0, 0);
    pen.globalCompositeOperation = "source-in";
    pen.fillStyle = getComputedStyle(this.canvas).color;
    pen.fillRect(0, 0, columns, ROWS);
  }

  async #compute() {
    const record = this.#record;
    if (!record || !this.panel.open || this.#drawn === record) return;
    this.#drawn = record;
    const columns = Math.min(MOST_COLUMNS, Math.max(1, Math.round(this.canvas.clientWidth * (devicePixelRatio || 1))));
    const result = await levels(record, columns, async () => {
      await new Promise((go) => setTimeout(go));
      return this.#drawn === record;
    });
    if (!result) return;
    this.#levels = result;
    const kilohertz = Math.round(record.sampleRate / 2000);
    this.canvas.ariaLabel = `Spectrogram of ${Math.round(record.seconds)} seconds of speech, 0 to ${kilohertz} kHz`;
    this.refresh();
  }
}
