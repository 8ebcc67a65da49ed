/** Outline of a speech on a canvas: what was heard, what is there, and room for the rest. */

const BAR = 3; // CSS pixels from one bar to the next
const QUIET = 0.05; // the magnitude that fills the height, unless there is a larger one

/** @typedef {Pick<import("./record.js").Record, "outline" | "share" | "total">} Outlined */

/**
 * @param {number[]} outline magnitudes @param {number} count of bars @param {number} share of the speech that is there
 * @returns {number[]} the largest magnitude of each bar, 0 where nothing is there yet
 */
export function bars(outline, count, share) {
  const available = Math.min(count, Math.round(count * share));
  const result = new Array(count).fill(0);
  if (!available) return result;
  for (let place = 0; place < outline.length; place++) {
    const bar = Math.min(available - 1, Math.floor((place * available) / outline.length));
    result[bar] = Math.max(result[bar], outline[place]);
  }
  return result;
}

export class Wave {
  #record = /** @type {Outlined | null} */ (null);
  #position = 0;
  #size = { width: 0, height: 0 };
  #colors = ["", ""]; // heard, not yet heard
  #drawn = "";

  /** @param {HTMLCanvasElement} canvas whose CSS `color` is that of what was heard, `border-color` of the rest */
  constructor(canvas) {
    this.canvas = canvas;
    new ResizeObserver(() => this.refresh()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refresh());
  }

  /** Measure and draw again after a change of size or colours. */
  refresh() {
    const { width, height } = this.canvas.getBoundingClientRect();
    const { color, borderTopColor } = getComputedStyle(this.canvas);
    this.#size = { width, height };
    this.#colors = [color, borderTopColor];
    this.#drawn = "";
    this.draw(this.#record, this.#position);
  }

  /** @param {Outlined | null} record @param {number} position seconds */
  draw(record, position) {
    this.#record = record;
    this.#position = position;
    const { width, height } = this.#size;
    const count = Math.floor(width / BAR);
    const share = record?.share ?? 0;
    const heard = record?.total ? Math.round(count * (position / record.total)) : 0;
    const drawn = [heard, share, record?.outline.length].join();
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const scale = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    pen.scale(scale, scale);
    const sizes = bars(record?.outline ?? [], count, share);
    const loudest = Math.max(QUIET, ...sizes);
    sizes.forEach((size, place) => {
      const tall = Math.max(2, height * Math.sqrt(size / loudest));
      pen.fillStyle = this.#colors[place < heard ? 0 : 1];
      pen.globalAlpha = place < count * share ? 1 : 0.5;
      pen.fillRect(place * BAR, (height - tall) / 2, BAR - 1, tall);
    });
  }
}
