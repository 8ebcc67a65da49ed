/** A whole speech: its audio, and the times of its words. */

import { writeJson } from "./captions/json.js";
import { writeSrt } from "./captions/srt.js";
import { writeWebVtt } from "./captions/webvtt.js";
import { InputError } from "./errors.js";
import { wavFile } from "./wav.js";
import { shown, timeline } from "./words.js";

/** @typedef {"srt" | "vtt" | "json"} CaptionFormat */

const CAPTIONS = new Map([["srt", writeSrt], ["vtt", writeWebVtt], ["json", writeJson]]);

/** Result of a synthesis. */
export class Speech {
  /** @param {import("./plan.js").Plan} plan what was rendered @param {Float32Array} audio its samples */
  constructor(plan, audio) {
    this.plan = plan;
    /** Mono samples, which may exceed 1 in magnitude. */
    this.audio = audio;
    /** @type {number} samples a second */
    this.sampleRate = plan.sampleRate;
  }

  /** Duration in seconds. @returns {number} */
  get seconds() {
    return this.audio.length / this.sampleRate;
  }

  /** Words without marks. @returns {import("./synthesizer.js").Word[]} */
  get words() {
    return shown(this.timeline);
  }

  /** Words and marks with samples, seconds and phonemes. @returns {import("./words.js").TimedWord[]} */
  get timeline() {
    return timeline(this.plan);
  }

  /**
   * Return a file of captions. Throws an InputError for another format.
   * @param {CaptionFormat} format
   * @returns {string}
   */
  captions(format) {
    const write = CAPTIONS.get(format);
    if (!write) throw new InputError(`Captions are written as ${[...CAPTIONS.keys()].join(", ")}, not as ${format}.`);
    return write(this.timeline, this.seconds);
  }

  /** Return a WAV file of 16 bits; samples beyond 1 are clipped. */
  wav() {
    const [header, samples] = wavFile([this.audio], this.sampleRate);
    const file = new Uint8Array(header.length + samples.length);
    file.set(header);
    file.set(samples, header.length);
    return file;
  }
}
