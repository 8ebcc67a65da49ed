/**
 * What Python plans of texts, planned here, where TEXT and FRONT_END are a bundle's text.wasm and front_end.safetensors.
 *
 * VECTORS: another file of them. Failures show the first texts that differ.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { writeJson } from "../../kokoro_tvm/web/captions/json.js";
import { writeSrt } from "../../kokoro_tvm/web/captions/srt.js";
import { writeWebVtt } from "../../kokoro_tvm/web/captions/webvtt.js";
import { BundleError, InputError } from "../../kokoro_tvm/web/errors.js";
import { FrontEnd } from "../../kokoro_tvm/web/front_end.js";
import { muted } from "../../kokoro_tvm/web/joins.js";
import { Planner } from "../../kokoro_tvm/web/planner.js";
import { Voices, languagesOf } from "../../kokoro_tvm/web/voices.js";
import { timeline } from "../../kokoro_tvm/web/words.js";

const { TEXT, FRONT_END, VECTORS: OTHERS } = process.env;
const VECTORS = JSON.parse(readFileSync(OTHERS ?? new URL("../conformance.json", import.meta.url), "utf8"));
const table = { rows: VECTORS.rows, width: 1, values: new Float32Array(VECTORS.rows) };
const voices = new Voices(new Map(VECTORS.voices.map((voice) => [voice, table])));
const { first_s: firstS, ...lengths } = VECTORS.division;
const division = { ...lengths, firstS };
const SHOWN = 5;

/** What `plan_pieces` asks of a model in tests/front_end_vectors.py. */
const model = {
  vocabulary: new Map(Object.entries(VECTORS.vocabulary)),
  sampleRate: 24_000,
  samplesPerFrame: 600,
  most: VECTORS.most,
  predict: async (tokens) => ({
    durations: Float32Array.from(tokens, (token, place) => 1 + ((7 * token + place) % 5) + (token % 4) / 4),
    features: null,
  }),
};

const frontEnd = await FrontEnd.open(readFileSync(TEXT), readFileSync(FRONT_END));
const planner = new Planner(model, voices, frontEnd);

/** Places of units of UTF-16 as characters, which Python counts. */
function characters(text) {
  const places = [0];
  for (const char of text) {
    const place = places[places.length - 1];
    if (char.length === 2) places.push(place + 0.5);
    places.push(Math.floor(place) + 1);
  }
  return (place) => places[place];
}

async function caught(make) {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { error: error.message };
  }
}

/** The vector of a text, as Python writes it. */
async function made({ text, voice, captions }) {
  const at = characters(text);
  const vector = { text, voice, notices: [] };
  vector.plan = await caught(async () => {
    const warn = (notice) => vector.notices.push(notice);
    const plan = await planner.plan(text, { voice, speed: 0.9, division, warn });
    if (captions) {
      vector.muted = plan.pieces.map((piece) => muted(piece, plan.samplesPerFrame, plan.sampleRate));
      const words = timeline(plan);
      vector.captions = { ".srt": writeSrt(words), ".vtt": writeWebVtt(words), ".json": writeJson(words, plan.seconds) };
    }
    const rows = (words) =>
      words.map((w) => [w.text, at(w.start), at(w.end), w.phonemes, w.space, w.durations, w.pitch, w.rate, w.joined]);
    return plan.pieces.map((p) => ({
      before: rows(p.before), words: rows(p.words), after: rows(p.after),
      piece: [p.style, p.noise, p.lead, p.tail, p.keep, p.pause, p.voice],
    }));
  });
  return vector;
}

/** A captions' JSON as a value, with places as characters. */
function withCaptions(vector, at) {
  if (!vector.captions) return vector;
  const json = JSON.parse(vector.captions[".json"]);
  for (const word of json.words) word.source = word.source.map(at);
  return { ...vector, captions: { ...vector.captions, ".json": json } };
}

test("plan matches Python", async () => {
  assert.ok(VECTORS.texts.length > 100);
  const different = [];
  for (const requested of VECTORS.texts) {
    const candidate = withCaptions(await made(requested), characters(requested.text));
    try {
      assert.deepStrictEqual(candidate, withCaptions(requested, (place) => place));
    } catch (error) {
      different.push(`${JSON.stringify(requested.text)} (${requested.voice})\n${error.message}`);
    }
  }
  const count = `${VECTORS.texts.length - different.length} of ${VECTORS.texts.length} texts are equal`;
  console.log(count);
  assert.equal(different.length, 0, [count, ...different.slice(0, SHOWN)].join("\n\n"));
});

test("plan does not depend on portions", async () => {
  for (const { text, voice } of VECTORS.texts.slice(-25)) {
    const nodes = [text, text.split(""), text.match(/[^]{1,7}/g) ?? []].map((portions) =>
      caught(async () => (await planner.plan(portions, { voice })).toNode()),
    );
    const [whole, units, sevens] = await Promise.all(nodes);
    assert.deepStrictEqual(units, whole);
    assert.deepStrictEqual(sevens, whole);
  }
});

test("plan cuts no utterance, pieces cut a long first one", async () => {
  const text = "He ran all the way from home to the house of another man and came back before the end of the day.";
  const words = (pieces) => pieces.flatMap((piece) => piece.words);
  const whole = await planner.plan(text);
  const streamed = [];
  for await (const { piece } of planner.pieces(text)) streamed.push(piece);
  assert.equal(whole.pieces.length, 1);
  assert.equal(streamed.length, 2);
  assert.deepEqual(words(streamed), words(whole.pieces));
  assert.deepEqual((await planner.plan(text, { division })).pieces, streamed);
  assert.deepEqual((await planner.plan(text, { division: { firstS: Infinity } })).pieces, whole.pieces);
  const [{ symbols }] = whole.pieces;
  assert.deepEqual((await planner.planPhonemes(symbols)).pieces.map((piece) => piece.symbols), [symbols]);
});

test("notices name the words that they are about", async () => {
  const notices = new Map();
  await planner.plan("Quxley saw 世界, and a ☃.", { warn: (notice, words) => notices.set(notice.split(",")[0], words) });
  assert.deepEqual(notices, new Map([["Read by their letters", ["Quxley"]], ["Left out", ["世界"]]]));
});

test("planPhonemes keeps phonemes", async () => {
  const notices = [];
  const plan = await planner.planPhonemes(["həlˈO wˈɜɹld.", "☃", "ɡˌʊdbˈI"], { warn: (notice) => notices.push(notice) });
  assert.deepEqual(plan.pieces.map((piece) => piece.symbols), ["həlˈO wˈɜɹld.", "ɡˌʊdbˈI"]);
  assert.deepEqual(plan.words.map(({ start, end }) => [start, end]), [[0, 5], [6, 12], [12, 13], [16, 23]]);
  assert.deepEqual(notices, ["Left out, because the model knows none of its symbols: '☃'"]);
  await assert.rejects(planner.planPhonemes("☃"), /knows none of the phonemes \('☃' \(U\+2603\)\)/);
});

test("plan refuses what Python refuses", async () => {
  await assert.rejects(planner.plan("a", { voice: "af_hart" }), /Nearest: af_heart/);
  await assert.rejects(planner.plan("a", { speed: 0 }), InputError);
  await assert.rejects(planner.plan("a", { seed: 2n ** 64n }), InputError);
  await assert.rejects(planner.plan("a ".repeat(1_000_001)), /2000002 characters/);
  await assert.rejects(planner.plan(["a", 5]), /should come as strings, but 5 came/);
  await assert.rejects(planner.plan(5), /is a string, or strings in turn, not 5/);
  const notices = [];
  await planner.plan("a", { voice: "bf_emma,af_heart", warn: (notice) => notices.push(notice) });
  assert.match(notices[0], /mix 'bf_emma,af_heart' speak different languages; British English is used/);
});

test("plan refuses a language that only Python reads", async () => {
  const languages = languagesOf({ d: { name: "German", espeak: "de" } });
  const german = new Planner(model, new Voices(new Map([["anna", table]])), frontEnd, languages);
  await assert.rejects(german.plan("Guten Tag."), { message: /^German text cannot be turned into phonemes in a browser/ });
  await assert.rejects(planner.plan("a", { lang: "j" }), { message: /^Japanese text cannot be turned into phonemes/ });
  const empty = new Planner(model, voices, await FrontEnd.open(readFileSync(TEXT), null));
  await assert.rejects(empty.plan("a"), { message: /^American English text cannot be turned into phonemes/ });
  assert.equal((await empty.planPhonemes("həlˈO")).pieces.length, 1);
});

test("plan refuses a text again and again, and what follows is planned", async () => {
  const before = (await planner.plan("A word.")).toNode();
  for (let time = 0; time < 1000; time++) {
    await assert.rejects(planner.plan("a\0"), { name: "InputError", message: /^The text holds a NUL byte/ });
  }
  await assert.rejects(planner.plan("a \ud800"), /^InputError: The text is not valid UTF-8/);
  assert.deepEqual((await planner.plan("A word.")).toNode(), before);
});

test("plans that are made at the same time do not mix", async () => {
  const texts = ["First. " + "One two three. ".repeat(9), "<speak>Second <voice name='bf_emma'>colour</voice>.</speak>"];
  const alone = [];
  for (const text of texts) alone.push((await planner.plan(text)).toNode());
  assert.deepEqual((await Promise.all(texts.map((text) => planner.plan(text)))).map((plan) => plan.toNode()), alone);
});

test("a file of another layout is refused", async () => {
  const [code, data] = [readFileSync(TEXT), readFileSync(FRONT_END)];
  for (const bytes of [data.subarray(0, 1000), new Uint8Array(3), new Uint8Array(0)]) {
    await assert.rejects(FrontEnd.open(code, bytes), BundleError);
  }
});
