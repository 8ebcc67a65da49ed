/** Audio thread: a queue of samples. It imports nothing, because worklets of some browsers cannot. */

const REPORT = 8; // blocks of 128 samples between two reports of the position
const FADE = 96; // samples of the fade to silence when sound breaks off, against a click

/**
 * Queue of samples that come in pieces and go out in blocks, with silence where nothing is there. After a gap, it
 * continues when `prebuffer` samples are there, or the last ones.
 */
export class SampleQueue {
  #pieces = /** @type {Float32Array[]} */ ([]);
  #offset = 0; // in the first piece
  #last = 0; // the last sample that was heard
  #finished = false;

  /** @param {number} prebuffer */
  constructor(prebuffer) {
    this.prebuffer = prebuffer;
    this.queued = 0; // samples that have not gone out
    this.played = 0; // samples that have gone out
    this.gaps = 0; // times that it ran empty before the end
    this.paused = false;
    this.flowing = false;
  }

  get ended() {
    return this.#finished && this.queued === 0;
  }

  /** @param {Float32Array} samples */
  push(samples) {
    if (!samples.length) return;
    this.#pieces.push(samples);
    this.queued += samples.length;
  }

  /** Announce that nothing more comes. */
  finish() {
    this.#finished = true;
  }

  clear() {
    this.#pieces = [];
    this.#offset = this.queued = this.played = 0;
    this.#finished = this.flowing = false;
  }

  /** @param {Float32Array} block is filled */
  pull(block) {
    if (!this.flowing) this.flowing = this.queued > 0 && (this.#finished || this.queued >= this.prebuffer);
    const count = this.flowing && !this.paused ? Math.min(block.length, this.queued) : 0;
    for (let filled = 0; filled < count; ) {
      const piece = this.#pieces[0];
      const part = piece.subarray(this.#offset, this.#offset + count - filled);
      block.set(part, filled);
      filled += part.length;
      this.#offset += part.length;
      if (this.#offset === piece.length) {
        this.#pieces.shift();
        this.#offset = 0;
      }
    }
    this.queued -= count;
    this.played += count;
    if (this.flowing && this.queued === 0) {
      this.flowing = false;
      if (!this.#finished) this.gaps += 1;
    }
    const from = count ? block[count - 1] : this.#last;
    for (let place = count; place < block.length; place++) {
      block[place] = from * Math.max(0, 1 - (place - count + 1) / FADE);
    }
    this.#last = block[block.length - 1];
  }
}

// Only a worklet has this function. Tests use the class alone.
if (typeof registerProcessor === "function") {
  registerProcessor(
    "speech",
    class extends AudioWorkletProcessor {
      /** @param {{processorOptions: {prebuffer: number}}} options */
      constructor({ processorOptions }) {
        super();
        this.queue = new SampleQueue(processorOptions.prebuffer);
        this.epoch = 0; // how often the queue was cleared: earlier reports are ignored
        this.blocks = 0;
        this.reported = "";
        this.port.onmessage = ({ data }) => this.take(data);
      }

      /** @param {{type: string, samples?: Float32Array, epoch?: number, paused?: boolean}} message */
      take({ type, samples, epoch, paused }) {
        if (type === "push") this.queue.push(/** @type {Float32Array} */ (samples));
        else if (type === "finish") this.queue.finish();
        else if (type === "pause") this.queue.paused = Boolean(paused);
        else {
          this.queue.clear();
          this.epoch = /** @type {number} */ (epoch);
        }
        this.blocks = 0;
        this.reported = "";
      }

      /** @param {Float32Array[][]} _inputs @param {Float32Array[][]} outputs */
      process(_inputs, outputs) {
        const block = outputs[0][0];
        const { queue } = this;
        queue.pull(block);
        if (this.blocks++ % REPORT === 0 || queue.ended) this.report(queue);
        return true;
      }

      /** Report the position unless nothing has changed. @param {SampleQueue} queue */
      report({ played, flowing, ended, gaps }) {
        const news = [this.epoch, played, flowing, ended].join();
        if (news === this.reported) return;
        this.reported = news;
        this.port.postMessage({ epoch: this.epoch, played, flowing, ended, gaps, at: currentTime });
      }
    },
  );
}
