import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { open } from "../../kokoro_tvm/web/http_synthesizer.js";

const BASE = "http://host/below/";
const original = globalThis.fetch;
const sent = [];
afterEach(() => {
  globalThis.fetch = original;
  sent.length = 0;
});
/** Lets every request be answered by what `answer` returns, or throws. */
const answering = (answer) => {
  globalThis.fetch = async (url, request) => {
    sent.push({ url: String(url), ...request });
    return answer();
  };
};
const events = (...nodes) => new Response(nodes.map((node) => `data: ${JSON.stringify(node)}\n\n`).join(""));
const delta = (...samples) => {
  const bytes = new Uint8Array(Int16Array.from(samples).buffer);
  return { type: "speech.audio.delta", audio: Buffer.from(bytes).toString("base64") };
};
const collect = async (stream) => {
  const result = [];
  for await (const chunk of stream) result.push(chunk);
  return result;
};
const speak = async (options) => collect((await open(BASE)).stream("Ha.", { voice: "af_heart", ...options }));

test("stream yields chunks up to the last event", async () => {
  const words = { type: "speech.audio.words", words: [{ word: "Ha", start_time: 0.25, end_time: 0.5, source: [0, 2] }] };
  answering(() => events(words, delta(0, 16384), { type: "something.new" }, delta(-32768), { type: "speech.audio.done" }));
  const chunks = await speak({ speed: 1.5, lang: "b" });
  assert.deepEqual(chunks.flatMap((chunk) => chunk.words), [{ word: "Ha", start: 0.25, end: 0.5, source: [0, 2] }]);
  assert.deepEqual(chunks.flatMap((chunk) => [...chunk.audio]), [0, 0.5, -1]);
  assert.equal(sent[0].url, `${BASE}v1/audio/speech`);
  assert.deepEqual(JSON.parse(sent[0].body), {
    model: "kokoro",
    input: "Ha.",
    voice: "af_heart",
    speed: 1.5,
    response_format: "pcm",
    stream_format: "sse",
    lang_code: "b",
  });
});

test("stream counts places in UTF-16 units", async () => {
  const text = "😀 Ha 😀😀 no";
  const word = (text, ...source) => ({ word: text, start_time: 0, end_time: 1, source });
  answering(() => events({ type: "speech.audio.words", words: [word("Ha", 2, 4), word("no", 8, 10)] }, { type: "speech.audio.done" }));
  const [chunk] = await collect((await open(BASE)).stream(text, { voice: "af_heart" }));
  assert.deepEqual(chunk.words.map(({ source }) => text.slice(...source)), ["Ha", "no"]);
});

test("voices accepts names and objects", async () => {
  answering(() => Response.json({ voices: [{ id: "af_heart", name: "Heart" }, "am_adam"] }));
  const tts = await open(BASE);
  tts.authorize("sesame");
  assert.deepEqual(await tts.voices(), ["af_heart", "am_adam"]);
  assert.equal(sent[0].headers.get("Authorization"), "Bearer sesame");
});

for (const [status, code, kind] of [
  [400, "invalid_value", "refused"],
  [400, "string_above_max_length", "too_long"],
  [401, "invalid_api_key", "unauthorized"],
  [413, "body_too_large", "too_long"],
  [429, "rate_limit_exceeded", "busy"],
  [500, "internal_error", "failed"],
]) {
  test(`status ${status} with ${code} is ${kind}`, async () => {
    const error = { message: "The reason.", type: "x", param: null, code };
    answering(() => Response.json({ error }, { status, headers: { "Retry-After": "7" } }));
    await assert.rejects(speak(), { name: "SpeechError", kind, message: "The reason.", retryAfter: 7 });
  });
}

test("refusal uses the status of a proxy's answer", async () => {
  answering(() => new Response("<h1>Bad gateway</h1>", { status: 502, statusText: "Bad Gateway" }));
  await assert.rejects(speak(), { kind: "unreachable", message: "502 Bad Gateway", retryAfter: null });
});

test("stream reports errors, early ends and missing answers", async () => {
  answering(() => events(delta(1), { type: "error", error: { message: "It broke." } }));
  await assert.rejects(speak(), { kind: "failed", message: "It broke." });
  answering(() => events(delta(1)));
  await assert.rejects(speak(), { kind: "interrupted" });
  answering(() => {
    throw new TypeError("Failed to fetch");
  });
  await assert.rejects(speak(), { kind: "unreachable" });
  const lost = new ReadableStream({ pull: (controller) => controller.error(new TypeError("network error")) });
  answering(() => new Response(lost));
  await assert.rejects(speak(), { kind: "interrupted" });
});

test("stream passes the reason of an abort", async () => {
  const abort = new AbortController();
  answering(() => {
    abort.abort();
    throw abort.signal.reason;
  });
  await assert.rejects(speak({ signal: abort.signal }), { name: "AbortError" });
});

test("stream passes notices on, with the words that they are about", async () => {
  const notices = [];
  const node = { type: "speech.audio.notice", notice: "Left out: 世界", words: ["世界"] };
  answering(() => events(node, { type: "speech.audio.done" }));
  await speak({ warn: (...notice) => notices.push(notice) });
  assert.deepEqual(notices, [["Left out: 世界", ["世界"]]]);
});

test("the list of voices is asked for once, and again after a failure", async () => {
  let status = 500;
  answering(() => new Response(JSON.stringify({ model: "cpu", voices: [{ id: "af_heart" }], languages: {} }), { status }));
  const synthesizer = await open(BASE);
  await assert.rejects(synthesizer.voices());
  status = 200;
  assert.deepEqual(await synthesizer.voices(), ["af_heart"]);
  assert.equal(await synthesizer.bundle(), "cpu");
  assert.equal(sent.length, 2);
});
