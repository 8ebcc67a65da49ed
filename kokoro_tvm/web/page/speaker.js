/** Control of one speech at a time: a synthesizer's stream fills a record, which a player plays. */

import { sentenceStart } from "../alignment.js";
import { SpeechError } from "../synthesizer.js";
import { Player } from "./player.js";
import { Record } from "./record.js";

const LONGEST_TASK = 8; // milliseconds
const MOST_MEASURED = 30; // seconds of speech: a server waits for its listener after that

/**
 * @typedef {object} Request
 * @property {string} text
 * @property {string} voice a name or a mix
 * @property {number} speed
 * @property {string} [lang] the letter of a language, where it is not that of the voice
 * @property {boolean} [plain] whether brackets and tags are text
 * @property {boolean} [prose] whether citations, code and notes are left out
 *
 * @typedef {"idle" | "preparing" | "speaking" | "paused" | "ended"} State
 *
 * @typedef {object} Listener
 * @property {(state: State) => void} state
 * @property {(record: Record) => void} begun with a new record, before anything is in it
 * @property {(words: import("./record.js").PlacedWord[]) => void} grown with the words that are new
 * @property {(notice: string, words: string[]) => void} noted with a sentence about the text, before the words that it is about
 * @property {(factor: number) => void} measured with the seconds of speech that are computed in a second
 * @property {(place: number) => void} cut with the words from `place` on gone
 * @property {(error: SpeechError) => void} failed what there is can be heard nevertheless
 */

export class Speaker {
  #synthesizer;
  #listener;
  #player;
  #abort = /** @type {AbortController | null} */ (null);
  #state = /** @type {State} */ ("idle");

  /** @param {import("../synthesizer.js").Synthesizer} synthesizer @param {Listener} listener */
  constructor(synthesizer, listener) {
    this.#synthesizer = synthesizer;
    this.#listener = listener;
    this.#player = new Player(() => this.#follow());
    this.record = /** @type {Record | null} */ (null);
    this.request = /** @type {Request | null} */ (null);
  }

  get state() {
    return this.#state;
  }

  /** Return the seconds of the speech that were heard. */
  get position() {
    return this.#player.position;
  }

  /** Return how often the buffer ran empty. */
  get gaps() {
    return this.#player.gaps;
  }

  /** @param {Request} request */
  async speak(request) {
    this.stop();
    this.request = request;
    this.record = new Record(request.text, this.#synthesizer.sampleRate);
    this.#listener.begun(this.record);
    await this.#run(this.record, request, 0, 0);
  }

  /** Continue with another voice or speed from the current sentence. @param {Omit<Request, "text">} settings */
  async change(settings) {
    const { record, request } = this;
    if (!record || !request || !["preparing", "speaking", "paused"].includes(this.#state)) return;
    const paused = this.#state === "paused";
    const { place, character } = sentenceAt(record, this.position);
    this.#abort?.abort();
    const seconds = record.cut(place, character) / record.sampleRate;
    this.#listener.cut(place);
    this.request = { ...request, ...settings };
    await this.#run(record, this.request, character, seconds, paused);
  }

  /** Play the record from its beginning. */
  async replay() {
    if (this.record) await this.#play(this.record, 0);
  }

  /** @param {boolean} paused */
  pause(paused) {
    this.#player.pause(paused);
  }

  /** @param {number} seconds */
  seek(seconds) {
    if (this.#state === "ended" && this.record) this.#play(this.record, seconds);
    else this.#player.seek(seconds);
  }

  /** Stop computing and playing. The record keeps what there is. */
  stop() {
    this.#abort?.abort();
    this.#abort = null;
    this.#player.stop();
    if (this.record) this.record.done = true;
    this.#become(this.record?.length ? "ended" : "idle");
  }

  /**
   * @param {Record} record @param {Request} request
   * @param {number} character of the text at which the stream begins @param {number} seconds where it is heard
   * @param {boolean} [paused]
   */
  async #run(record, request, character, seconds, paused = false) {
    const abort = (this.#abort = new AbortController());
    if (!paused) this.#become("preparing");
    try {
      await Promise.all([
        this.#player.play(record, seconds, paused),
        this.#fetch(record, { ...request, text: request.text.slice(character) }, abort.signal),
      ]);
    } catch (error) {
      if (abort.signal.aborted) return;
      abort.abort();
      const known = error instanceof SpeechError ? error : new SpeechError("failed", String(error), { cause: error });
      this.#listener.failed(known);
      if (!record.length || known.kind === "no_audio") this.stop();
      record.done = true;
      this.#player.fill();
    }
  }

  /** @param {Record} record @param {Request} request @param {AbortSignal} signal */
  async #fetch(record, { text, ...request }, signal) {
    const started = performance.now();
    let seconds = 0;
    const warn = (/** @type {string} */ notice, /** @type {string[]} */ words = []) => signal.aborted || this.#listener.noted(notice, words);
    for await (const chunk of this.#synthesizer.stream(text, { ...optionsOf(request), signal, warn })) {
      if (signal.aborted) return;
      this.#listener.grown(record.append(chunk));
      this.#player.fill();
      seconds += chunk.audio.length / record.sampleRate;
      if (chunk.audio.length && seconds < MOST_MEASURED) this.#listener.measured((1000 * seconds) / (performance.now() - started));
      await breath();
      if (signal.aborted) return;
    }
    record.done = record.complete = true;
    this.#listener.grown([]);
    this.#player.fill();
  }

  /** @param {Record} record @param {number} seconds */
  async #play(record, seconds) {
    try {
      await this.#player.play(record, seconds);
    } catch (error) {
      this.#listener.failed(/** @type {SpeechError} */ (error));
    }
  }

  /** Derive the state from the player. */
  #follow() {
    const { paused, flowing, ended } = this.#player;
    if (ended) this.#become("ended");
    else if (paused) this.#become("paused");
    else this.#become(flowing ? "speaking" : "preparing");
  }

  /** @param {State} state */
  #become(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#listener.state(state);
  }
}

/**
 * Return a request as options of a synthesizer.
 * @param {Omit<Request, "text">} request
 * @returns {import("../synthesizer.js").Options}
 */
export const optionsOf = ({ plain = false, prose = false, ...request }) => ({
  ...request, markup: !plain, ...(prose ? { omit: ["citations", "code", "notes"] } : {}),
});

let breathed = 0; // time of the last pause

/** Let the page do other work unless it just could: available chunks come in one task. */
async function breath() {
  if (performance.now() - breathed < LONGEST_TASK) return;
  await new Promise((done) => setTimeout(done));
  breathed = performance.now();
}

/**
 * @param {Record} record @param {number} seconds
 * @returns {{place: number, character: number}} the sentence that is said then: its first word, its first character
 */
function sentenceAt(record, seconds) {
  const said = record.words.slice(0, record.wordAt(seconds) + 1).findLast((word) => word.source);
  const character = said?.source ? sentenceStart(record.text, said.source[0]) : 0;
  const place = record.words.findIndex((word) => word.source && word.source[0] >= character);
  return place < 0 ? { place: 0, character: 0 } : { place, character };
}
