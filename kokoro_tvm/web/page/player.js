/** Playback of a growing record through an AudioWorklet. */

import { SpeechError } from "../synthesizer.js";
import { Playhead } from "./playhead.js";

const PREBUFFER = 0.15; // seconds that are buffered before sound begins, and after a gap
const AHEAD = 10; // seconds that the worklet has in advance
const PORTION = 0.5; // seconds per message
const REST = 1000; // milliseconds without sound after which the device may sleep

/** @type {Promise<AudioContext> | null} */
let opened = null;
/** @type {GainNode | null} of the context, which all players share */
let gain = null;
let volume = 1;
/** @type {Set<Player>} those that have something to play */
const playing = new Set();

/**
 * Return the page's running audio context. The first call has to come from a click or a key.
 * @param {number} sampleRate
 * @returns {Promise<AudioContext>} rejects with a SpeechError of kind `no_audio`
 */
export function openSound(sampleRate) {
  opened ??= createContext(sampleRate).catch((error) => {
    opened = null;
    throw new SpeechError("no_audio", String(error.message ?? error), { cause: error });
  });
  return opened.then(async (context) => {
    if (context.state !== "running") await context.resume();
    return context;
  });
}

/** Set the volume of all players. @param {number} factor 0 to 1 */
export function setVolume(factor) {
  volume = factor;
  if (gain) gain.gain.value = factor;
}

/** @param {number} sampleRate */
async function createContext(sampleRate) {
  if (!globalThis.AudioContext?.prototype || !("audioWorklet" in AudioContext.prototype)) {
    throw new Error("There is no AudioWorklet.");
  }
  const session = /** @type {{audioSession?: {type: string}}} */ (navigator).audioSession;
  if (session) session.type = "playback"; // an iPhone's mute switch is for ring tones
  const context = new AudioContext({ sampleRate });
  await Promise.all([context.resume(), context.audioWorklet.addModule(new URL("worklet.js", import.meta.url))]);
  gain = new GainNode(context, { gain: volume });
  gain.connect(context.destination);
  return context;
}

export class Player {
  #node = /** @type {AudioWorkletNode | null} */ (null);
  #context = /** @type {AudioContext | null} */ (null);
  #record = /** @type {import("./record.js").Record | null} */ (null);
  #epoch = 0;
  #sent = 0; // samples of the record that were sent to the worklet
  #finished = false; // the worklet knows that nothing follows
  #head = new Playhead();
  #report = { played: 0, flowing: false, ended: false, gaps: 0, at: 0 };

  /** @param {(player: Player) => void} changed is called when it begins, runs dry or ends */
  constructor(changed) {
    this.changed = changed;
    this.paused = false;
  }

  /** Return whether sound comes out now. */
  get flowing() {
    return this.#report.flowing && !this.paused;
  }

  get ended() {
    return this.#report.ended;
  }

  /** Return how often the buffer ran empty. */
  get gaps() {
    return this.#report.gaps;
  }

  /** Return the seconds of the record that were heard. */
  get position() {
    const record = this.#record;
    if (!record || !this.#context) return 0;
    const { currentTime, outputLatency, baseLatency } = this.#context;
    const report = { ...this.#report, flowing: this.flowing };
    const latency = outputLatency || baseLatency || 0;
    const place = this.#head.place(report, currentTime, latency, this.#sent, record.sampleRate);
    return Math.min(place, record.length) / record.sampleRate; // the record may have been cut meanwhile
  }

  /** @param {import("./record.js").Record} record @param {number} seconds where to begin @param {boolean} [paused] */
  async play(record, seconds, paused = false) {
    this.#record = record;
    this.paused = paused;
    this.#awake(!paused);
    this.#context = await openSound(record.sampleRate);
    if (this.#record !== record) return; // stopped, or playing another record, meanwhile
    this.#node ??= this.#connect(this.#context, record.sampleRate);
    this.seek(seconds);
  }

  /** Send what the worklet lacks. Call it after the record has grown. */
  fill() {
    const record = this.#record;
    if (!record || !this.#node) return;
    const requested = Math.min(record.length, this.#head.origin + this.#report.played + AHEAD * record.sampleRate);
    while (this.#sent < requested) {
      const samples = record.read(this.#sent, Math.min(PORTION * record.sampleRate, record.length - this.#sent));
      this.#sent += samples.length;
      this.#node.port.postMessage({ type: "push", samples }, [samples.buffer]);
    }
    if (record.done && !this.#finished && this.#sent === record.length) {
      this.#finished = true;
      this.#node.port.postMessage({ type: "finish" });
    }
  }

  /** @param {boolean} paused */
  pause(paused) {
    this.paused = paused;
    this.#node?.port.postMessage({ type: "pause", paused });
    if (!paused) this.#context?.resume();
    this.#awake(!paused);
    this.changed(this);
  }

  /** @param {number} seconds */
  seek(seconds) {
    const record = this.#record;
    if (!record || !this.#node) return;
    this.#clear(Math.round(Math.max(0, Math.min(seconds, record.seconds)) * record.sampleRate));
    this.#node.port.postMessage({ type: "pause", paused: this.paused });
    this.fill();
  }

  stop() {
    this.#record = null;
    this.paused = false;
    this.#clear(0);
    this.#awake(false);
  }

  /** Let the device sleep if no player needs it. @param {boolean} needed */
  #awake(needed) {
    if (needed) playing.add(this);
    else if (playing.delete(this) && !playing.size) setTimeout(() => playing.size || this.#context?.suspend(), REST);
  }

  /** @param {number} origin */
  #clear(origin) {
    this.#epoch += 1;
    this.#sent = origin;
    this.#head.begin(origin);
    this.#finished = false;
    this.#report = { ...this.#report, played: 0, flowing: false, ended: false };
    this.#node?.port.postMessage({ type: "clear", epoch: this.#epoch });
  }

  /** @param {AudioContext} context @param {number} sampleRate */
  #connect(context, sampleRate) {
    const node = new AudioWorkletNode(context, "speech", {
      numberOfInputs: 0,
      outputChannelCount: [1],
      processorOptions: { prebuffer: PREBUFFER * sampleRate },
    });
    node.port.onmessage = ({ data }) => {
      if (data.epoch !== this.#epoch) return;
      const before = this.#report;
      this.#report = data;
      this.fill();
      if (data.ended) this.#awake(false);
      if (before.flowing !== data.flowing || before.ended !== data.ended) this.changed(this);
    };
    context.addEventListener("statechange", () => {
      // A phone call or another program takes the sound away.
      if (context.state !== "running" && this.flowing) this.pause(true);
    });
    node.connect(/** @type {GainNode} */ (gain));
    return node;
  }
}
