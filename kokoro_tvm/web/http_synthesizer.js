/** Synthesizer with a server of kokoro-tvm, by OpenAI's speech interface with events for words. */

import { events } from "./sse.js";
import { SpeechError } from "./synthesizer.js";
import { fromBase64, PcmReader } from "./wav.js";

/** @typedef {import("./synthesizer.js").Chunk} Chunk */
/** @typedef {import("./synthesizer.js").Options} Options */
/** @typedef {{word: string, start_time: number, end_time: number, source: [number, number]}} Heard */

const SAMPLE_RATE = 24000; // of the format `pcm`
const NOTHING = new Float32Array(0);

/**
 * @param {string} base the page's address
 * @returns {Promise<HttpSynthesizer>}
 */
export async function open(base) {
  return new HttpSynthesizer(base);
}

/** Text to speech by a server. */
export class HttpSynthesizer {
  #base;
  #key = "";
  /** @type {Promise<any> | null} the list of voices, which is asked for once */
  #listed = null;

  /** @param {string | URL} base address that the server's `v1/` is relative to */
  constructor(base) {
    this.#base = base;
    this.sampleRate = SAMPLE_RATE;
    this.formats = ["mp3", "flac", "opus", "aac"];
    this.docs = "docs";
  }

  /** @param {string} key */
  authorize(key) {
    this.#key = key;
  }

  /** @returns {Promise<string>} the name of the server's bundle */
  async bundle() {
    return (await this.#list()).model ?? "";
  }

  /** @returns {Promise<string[]>} */
  async voices() {
    const { voices } = await this.#list();
    return voices.map((/** @type {string | {id: string}} */ voice) => (typeof voice === "string" ? voice : voice.id));
  }

  /** @returns {Promise<Record<string, {name: string, tag: string}> | null>} null: the server does not list them */
  async spokenLanguages() {
    return (await this.#list()).languages ?? null;
  }

  /** @returns {Promise<any>} the answer; one that failed is asked for again */
  #list() {
    this.#listed ??= this.#fetch("v1/audio/voices", {})
      .then((response) => response.json())
      .catch((error) => {
        this.#listed = null;
        throw error;
      });
    return this.#listed;
  }

  /**
   * @param {string} text
   * @param {Options} options
   * @returns {AsyncGenerator<Chunk>}
   */
  async *stream(text, options) {
    const { signal } = options;
    const response = await this.#speak(text, options, { response_format: "pcm", stream_format: "sse" });
    const pcm = new PcmReader();
    const places = unitsOf(text);
    const body = /** @type {ReadableStream<Uint8Array>} */ (response.body);
    for await (const data of interruptible(events(body), signal)) {
      const event = JSON.parse(data);
      if (event.type === "speech.audio.delta") yield { audio: pcm.push(fromBase64(event.audio)), words: [] };
      else if (event.type === "speech.audio.words") yield { audio: NOTHING, words: event.words.map((/** @type {Heard} */ word) => toWord(word, places)) };
      else if (event.type === "speech.audio.notice") options.warn?.(event.notice, event.words);
      else if (event.type === "speech.audio.done") return;
      else if (event.type === "error") throw new SpeechError("failed", event.error?.message ?? data);
    }
    throw new SpeechError("interrupted", "The server ended its answer before the speech was complete.");
  }

  /**
   * Return a whole speech as a file.
   * @param {string} text
   * @param {Options} options
   * @param {string} format one of `formats`
   * @returns {Promise<Blob>}
   */
  async file(text, options, format) {
    const response = await this.#speak(text, options, { response_format: format });
    try {
      return await response.blob();
    } catch (error) {
      throw new SpeechError("interrupted", String(error), { cause: error });
    }
  }

  /** @param {string} text @param {Options} options @param {object} form how the answer is encoded */
  #speak(text, { voice, speed = 1, lang, markup = true, omit = [], signal }, form) {
    const request = {
      model: "kokoro", input: text, voice, speed, ...form, ...(lang ? { lang_code: lang } : {}), ...(markup ? {} : { markup }),
      ...(omit.length ? { omit } : {}),
    };
    return this.#fetch("v1/audio/speech", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(request),
      signal,
    });
  }

  /** @param {string} path @param {RequestInit} request @returns {Promise<Response>} one that succeeded */
  async #fetch(path, request) {
    const headers = new Headers(request.headers);
    if (this.#key) headers.set("Authorization", `Bearer ${this.#key}`);
    /** @type {Response} */
    let response;
    try {
      response = await fetch(new URL(path, this.#base), { ...request, headers });
    } catch (error) {
      request.signal?.throwIfAborted();
      throw new SpeechError("unreachable", String(error), { cause: error });
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

/**
 * @param {Heard} word
 * @param {number[]} places of the text's characters
 * @returns {import("./synthesizer.js").Word}
 */
function toWord({ word, start_time, end_time, source }, places) {
  return { word, start: start_time, end: end_time, source: [places[source[0]], places[source[1]]] };
}

/** Return the UTF-16 unit of every character, and of the end; the server counts characters. @param {string} text */
function unitsOf(text) {
  const places = [0];
  for (const character of text) places.push(places[places.length - 1] + character.length);
  return places;
}

/**
 * Translate a lost connection to a SpeechError; an abort of `signal` stays.
 * @param {AsyncGenerator<string>} stream
 * @param {AbortSignal} [signal]
 */
async function* interruptible(stream, signal) {
  try {
    yield* stream;
  } catch (error) {
    signal?.throwIfAborted();
    throw new SpeechError("interrupted", String(error), { cause: error });
  }
}

/** @param {Response} response @returns {Promise<SpeechError>} */
async function refusal(response) {
  const text = await response.text();
  /** @type {{message?: string, code?: string} | undefined} */
  let error;
  try {
    error = JSON.parse(text).error;
  } catch {
    error = undefined; // not from the server itself but from a proxy before it
  }
  const message = error?.message ?? `${response.status} ${response.statusText}`.trim();
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  const retryAfter = Number.isNaN(seconds) ? null : seconds;
  return new SpeechError(kindOf(response.status, error?.code ?? ""), message, { retryAfter });
}

/** @param {number} status @param {string} code */
function kindOf(status, code) {
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 429 || status === 503) return "busy";
  if (status === 413 || /too_long|above_max_length/.test(code)) return "too_long";
  if (status === 502 || status === 504) return "unreachable";
  return status < 500 ? "refused" : "failed";
}
