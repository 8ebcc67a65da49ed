import assert from "node:assert/strict";
import { test } from "node:test";
import { fromFragment, toFragment } from "../../kokoro_tvm/web/page/link.js";
import { explain } from "../../kokoro_tvm/web/page/messages.js";
import { MOST_CHARACTERS, MOST_ENTRIES, readHistory, readSettings, withEntry, writeHistory } from "../../kokoro_tvm/web/page/storage.js";
import { compareGrades, gradeOf } from "../../kokoro_tvm/web/page/grades.js";
import { byLanguage, describe, finds, languageOf, languagesFrom, languagesOf, readMix, titleOf, writeMix } from "../../kokoro_tvm/web/page/voices.js";
import { SpeechError } from "../../kokoro_tvm/web/synthesizer.js";
import { draws } from "./draws.mjs";

const NAMES = ["af_heart", "am_adam", "bf_emma", "zf_xiaobei", "mine"];
const request = (text) => ({ text, voice: "af_heart", speed: 1 });
const store = (content = {}) => ({
  content,
  getItem: (key) => content[key] ?? null,
  setItem: (key, value) => void (content[key] = value),
  removeItem: (key) => void delete content[key],
});

test("fromFragment restores a request", () => {
  const draw = draws(6);
  for (let round = 0; round < 200; round++) {
    const text = Array.from({ length: 1 + draw.below(20) }, () => draw.pick([..."aé心 &=#%+\n😀?"])).join("");
    const requested = { text, voice: draw.pick(["af_heart", "af_heart(2)+am_adam"]), speed: draw.pick([0.5, 1.25, 2]), ...draw.pick([{}, { lang: "b" }]), ...draw.pick([{}, { plain: true }]), ...draw.pick([{}, { prose: true }]) };
    assert.deepEqual(fromFragment(new URL(toFragment(requested), "http://x/").hash), requested);
  }
});

test("fromFragment drops invalid values", () => {
  for (const speed of ["9", "-1", "NaN", "", "1e9"]) assert.deepEqual(fromFragment(`#speed=${speed}`), {});
  assert.deepEqual(fromFragment("#text=&voice="), {});
  assert.deepEqual(fromFragment(""), {});
});

test("withEntry puts the newest first, without duplicates, within limits", () => {
  const thrice = ["a", "b", "a"].reduce((entries, text) => withEntry(entries, request(text)), []);
  assert.deepEqual(thrice.map(({ text }) => text), ["a", "b"]);
  const many = Array.from({ length: 50 }, (_, place) => request(`${place}`)).reduce(withEntry, []);
  assert.equal(many.length, MOST_ENTRIES);
  const long = "x".repeat(MOST_CHARACTERS - 10);
  assert.deepEqual(withEntry([request(long), request("old")], request("a new one, of 20 ch.")).map(({ text }) => text.length), [20]);
});

test("readHistory ignores other data", () => {
  for (const written of ["", "{", "3", '{"text": 1}', '[null, 3, {"text": 1, "voice": "a", "speed": 1}]']) {
    assert.deepEqual(readHistory(store({ "kokoro-tvm.history": written })), []);
    assert.equal(typeof readSettings(store({ "kokoro-tvm.settings": written })), "object");
  }
});

test("readHistory returns what writeHistory stored", () => {
  const kept = store();
  writeHistory(kept, [request("a"), { ...request("b"), plain: true, prose: true }]);
  assert.deepEqual(readHistory(kept), [request("a"), { ...request("b"), plain: true, prose: true }]);
  writeHistory(kept, []);
  assert.deepEqual(kept.content, {});
});

test("writeHistory stores the newest entries if space is short", () => {
  const kept = store();
  kept.setItem = (key, value) => {
    if (value.length > 120) throw new DOMException("full", "QuotaExceededError");
    kept.content[key] = value;
  };
  writeHistory(kept, ["a", "b", "c", "d"].map(request));
  assert.deepEqual(readHistory(kept).map(({ text }) => text), ["a", "b"]);
});

test("readMix restores a mix", () => {
  const draw = draws(7);
  for (let round = 0; round < 200; round++) {
    const names = NAMES.filter(() => draw.next() < 0.6);
    if (!names.length) continue;
    const written = writeMix(names.map((name) => ({ name, weight: 1 + draw.below(10) })));
    assert.equal(writeMix(readMix(written, NAMES)), written);
  }
  assert.equal(writeMix([{ name: "af_heart", weight: 10 }, { name: "am_adam", weight: 5 }]), "af_heart(2)+am_adam");
  assert.equal(writeMix([{ name: "af_heart", weight: 5 }]), "af_heart");
});

test("readMix returns null for other texts", () => {
  for (const mix of ["", "nobody", "af_heart+nobody", "af_heart+af_heart", "af_heart(0)", "af_heart(11)", "af_heart(x)", "+"]) {
    assert.equal(readMix(mix, NAMES), null, mix);
  }
});

test("describe returns title, gender and language", () => {
  assert.deepEqual(describe("bf_emma"), { name: "bf_emma", title: "Emma", gender: "female", code: "b" });
  assert.deepEqual(describe("my_own_voice"), { name: "my_own_voice", title: "My_own_voice", gender: "", code: "" });
  assert.deepEqual(
    byLanguage(NAMES).map(([code, voices]) => [code, voices.map(({ title }) => title)]),
    [["a", ["Heart", "Adam"]], ["b", ["Emma"]], ["z", ["Xiaobei"]], ["", ["Mine"]]],
  );
  assert.equal(titleOf(readMix("af_heart(2)+am_adam", NAMES)), "Heart 67 %, Adam 33 %");
});

test("explain says what happened and what to do", () => {
  for (const kind of ["unreachable", "unauthorized", "busy", "too_long", "refused", "failed", "interrupted", "no_audio"]) {
    const { what, advice } = explain(new SpeechError(kind, "The reason."));
    assert.match(what, /\.$/);
    assert.match(advice, kind === "busy" || kind === "refused" ? /^$/ : /\.$/);
  }
  assert.equal(explain(new SpeechError("busy", "", { retryAfter: 7 })).wait, 7);
  assert.equal(explain(new SpeechError("busy", "")).wait, 5);
  const long = "`input`: String should have at most 100000 characters, but has 100004.";
  assert.equal(explain(new SpeechError("too_long", long)).what, "Too long: 100,004 of 100,000 characters.");
  assert.equal(explain(new SpeechError("refused", "There is no voice x.")).what, "There is no voice x.");
  assert.match(explain(new SpeechError("refused", "It needs a package. Run `pip install x`.")).advice, /^Change the text/);
});

test("explain names no command and no field", () => {
  const shown = (message) => explain(new SpeechError("refused", message)).what.replace("This cannot be spoken.", "").trim();
  assert.equal(shown("There is no voice 'x'. Nearest: y. `kokoro-tvm voices` lists all 54."), "There is no voice 'x'. Nearest: y.");
  assert.equal(shown("It needs a package. To have it, run `pip install x==1.2`; or wait."), "It needs a package.");
  assert.equal(shown("`input` has 3 characters. `kokoro-tvm voices` lists them."), "The text has 3 characters.");
  assert.equal(shown("'`' is no speed. Write a factor."), "'`' is no speed. Write a factor.");
  assert.equal(shown("`kokoro-tvm voices` lists them."), "");
});

test("byLanguage puts the best voices first, those without a grade last", () => {
  const names = ["am_adam", "af_mine", "af_bella", "af_heart", "bf_emma"];
  const groups = byLanguage(names).map(([code, voices]) => [code, voices.map(({ name }) => name)]);
  assert.deepEqual(groups, [["a", ["af_heart", "af_bella", "am_adam", "af_mine"]], ["b", ["bf_emma"]]]);
  assert.equal(gradeOf("af_bella"), "A-");
  assert.equal(gradeOf("af_mine"), "");
  assert.ok(compareGrades("af_bella", "bf_emma") < 0);
});

test("finds matches beginnings of words", () => {
  const result = (query) => NAMES.filter((name) => finds(query, name));
  assert.deepEqual(result(""), NAMES);
  assert.deepEqual(result("HEA"), ["af_heart"]);
  assert.deepEqual(result("male american"), ["am_adam"]);
  assert.deepEqual(result(" brit  fem "), ["bf_emma"]);
  assert.deepEqual(result("af_"), ["af_heart"]);
  assert.deepEqual(result("min"), ["mine"]);
  assert.deepEqual(result("eart"), []);
});

test("languagesOf lists choices if voices name none or several languages", () => {
  const open = (...names) => languagesOf(names.map((name) => ({ name, weight: 1 })), undefined, ["a", "b"]);
  assert.deepEqual(open("af_heart"), []);
  assert.deepEqual(open("af_heart", "am_adam"), []);
  assert.deepEqual(open("bf_emma", "af_heart"), ["b", "a"]);
  assert.deepEqual(open("af_heart", "zf_xiaobei"), ["a", "z"]);
  assert.deepEqual(open("mine"), ["a", "b"]);
  assert.deepEqual(open("mine", "bf_emma"), ["a", "b"]);
  assert.deepEqual(open("zf_xiaobei", "mine"), ["z", "a", "b"]);
  assert.equal(languagesOf([{ name: "mine", weight: 1 }]).length, 9);
});

test("languagesFrom prefers a model's languages", () => {
  const german = languagesFrom({ d: { name: "German", tag: "de" } });
  assert.deepEqual(describe("anna", german), { name: "anna", title: "Anna", gender: "", code: "d" });
  assert.deepEqual(byLanguage(["anna", "df_rosa"], german).map(([code, voices]) => [code, voices.length]), [["d", 2]]);
  assert.deepEqual(languageOf("d", german), { name: "German", tag: "de", sample: "" });
  assert.deepEqual(languagesOf([{ name: "anna", weight: 1 }], german), []);
  assert.ok(finds("germ", "anna", german));
  const both = languagesFrom({ p: { name: "European Portuguese", tag: "pt" }, a: { name: "American English", tag: "en-US" } });
  assert.equal(languageOf("a", both).sample, languageOf("a").sample);
  assert.equal(languageOf("p", both).sample, "");
  assert.deepEqual(languagesOf([{ name: "mine", weight: 1 }], both), ["p", "a"]);
  assert.equal(languageOf(describe("mine", both).code, both).name, "Other voices");
  assert.equal(languagesFrom(null), languagesFrom(undefined));
});
