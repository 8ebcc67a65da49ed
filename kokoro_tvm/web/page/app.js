/** The page: its controls and their actions. */

import { byId, setIcon } from "./dom.js";
import { listenForExamples, showExamples } from "./examples.js";
import { showBundle, showSpeed, showThreads, showWay } from "./footer.js";
import { fromFragment, toFragment } from "./link.js";
import { showLoading } from "./loading.js";
import { addNotice, clearNotices } from "./notices.js";
import { Past } from "./past.js";
import { clearProblem, showNotice, showProblem } from "./problem.js";
import { Reading } from "./reading.js";
import { listenForFiles } from "./opening.js";
import { listenForVoices } from "./own_voices.js";
import { setVolume } from "./player.js";
import { formats, save } from "./saving.js";
import { Speaker } from "./speaker.js";
import { Spectrogram } from "./spectrogram.js";
import { browserStore, readSettings, writeSettings } from "./storage.js";
import { Suggestion } from "./suggestion.js";
import { startTheme } from "./theme.js";
import { VoicePicker } from "./voice_picker.js";
import { describe, languageOf, languagesFrom } from "./voices.js";
import { Wave } from "./wave.js";

/** @typedef {import("./speaker.js").Request} Request */
/** @typedef {import("./speaker.js").State} State */
/** @typedef {import("../synthesizer.js").SpeechError} SpeechError */

const FIRST_VOICE = "af_heart";
const LINGER = 0.3; // seconds that a word stays highlighted in a pause
/** State -> icon and name of the play button. */
const PLAY = {
  idle: ["play", "Speak"],
  preparing: ["pause", "Pause"],
  speaking: ["pause", "Pause"],
  paused: ["play", "Resume"],
  ended: ["play", "Play"],
};

const text = /** @type {HTMLTextAreaElement} */ (byId("text"));
const find = /** @type {HTMLInputElement} */ (byId("find"));
const speed = /** @type {HTMLInputElement} */ (byId("speed"));
const volume = /** @type {HTMLInputElement} */ (byId("volume"));
const plain = /** @type {HTMLInputElement} */ (byId("plain"));
const prose = /** @type {HTMLInputElement} */ (byId("prose"));
const seek = /** @type {HTMLInputElement} */ (byId("seek"));
const play = /** @type {HTMLButtonElement} */ (byId("play"));
const format = /** @type {HTMLSelectElement} */ (byId("format"));
const stop = /** @type {HTMLButtonElement} */ (byId("stop"));

const store = browserStore();
const settings = readSettings(store);
const keep = (/** @type {typeof settings} */ changed) => writeSettings(store, Object.assign(settings, changed));
const wave = new Wave(/** @type {HTMLCanvasElement} */ (byId("wave")));
const spectrogram = new Spectrogram(
  /** @type {HTMLDetailsElement} */ (byId("spectrogram-panel")),
  /** @type {HTMLCanvasElement} */ (byId("spectrogram")),
);
startTheme(settings.theme, (theme) => {
  keep({ theme });
  wave.refresh();
  spectrogram.refresh();
});

const module = await import(new URL(document.documentElement.dataset.synthesizer ?? "", document.baseURI).href);
const synthesizer = /** @type {import("../synthesizer.js").Synthesizer} */ (await module.open(document.baseURI, { onprogress: showLoading, onway }));
const authorize = synthesizer.authorize?.bind(synthesizer) ?? null;

const reading = new Reading(byId("reading"), (place) => speaker.record && speaker.seek(speaker.record.words[place].start));
const picker = new VoicePicker({ chosen: () => settle({ voice: picker.value, lang: picker.lang }), sample: hear });
picker.readable = synthesizer.languages;
const suggestion = new Suggestion(picker, (voice) => {
  clearProblem();
  picker.choose(voice);
  settle({ voice: picker.value, lang: picker.lang });
  play.focus();
});
const past = new Past(store, (request) => {
  speaker.stop();
  apply(request);
  edit();
});
const speaker = new Speaker(synthesizer, {
  state: show,
  begun() {
    clearNotices();
    reading.begin(text.value, picker.language.tag);
  },
  grown(words) {
    reading.add(words);
    if (speaker.record?.complete) reading.finish();
    offer();
    if (speaker.state !== "speaking") requestAnimationFrame(paint);
  },
  noted(notice, words) {
    addNotice(notice);
    reading.note(notice, words);
  },
  measured: showSpeed,
  cut: (place) => reading.cut(place),
  failed(error) {
    if (!speaker.record?.length) view("text");
    fail(speak)(error);
  },
});
const sampler = new Speaker(synthesizer, {
  state(state) {
    if (state === "idle" || state === "ended") picker.sampling(null);
  },
  begun() {},
  grown() {},
  noted() {},
  measured() {},
  cut() {},
  failed: fail(null),
});

/** @param {string} id @returns {HTMLButtonElement} */
function button(id) {
  return byId(id);
}

/**
 * Return a handler that shows an error.
 * @param {(() => void) | null} again
 * @returns {(error: SpeechError) => void}
 */
function fail(again) {
  return (error) => showProblem(error, again, authorize);
}

/** @returns {Request} what the controls say */
function request() {
  return { text: text.value, voice: picker.value, speed: Number(speed.value), lang: picker.lang, plain: plain.checked || undefined, prose: prose.checked || undefined };
}

/** @param {Partial<Request>} requested */
function apply(requested) {
  if (requested.text !== undefined) text.value = requested.text;
  if (requested.speed !== undefined) speed.value = String(requested.speed);
  if (requested.voice !== undefined) [plain.checked, prose.checked] = [requested.plain ?? false, requested.prose ?? false]; // a request of the history
  if (requested.voice !== undefined) picker.choose(requested.voice, requested.lang);
  byId("speed-shown").textContent = `${Number(speed.value).toFixed(2)}×`;
  text.lang = picker.language.tag;
  edited();
}

/** Apply a changed setting; speech continues with it. @param {Omit<Partial<Request>, "text">} changed */
function settle(changed) {
  text.lang = picker.language.tag;
  keep(changed);
  suggestion.look(text.value);
  showExamples(text.value, picker.code);
  const { text: _, ...now } = request();
  if (running()) speaker.change(now);
  else show(speaker.state);
}

function running() {
  return ["preparing", "speaking", "paused"].includes(speaker.state);
}

/** Do what the name of the button says. */
function press() {
  if (running()) speaker.pause(speaker.state !== "paused");
  else if (isRecorded()) {
    view("reading");
    speaker.replay();
  } else speak();
}

/** Return the record of the text in the box, or null. */
function currentRecord() {
  return speaker.record?.text === text.value ? speaker.record : null;
}

/** Return whether the record is complete for the current controls. */
function isRecorded() {
  return Boolean(currentRecord()?.complete) && JSON.stringify(speaker.request) === JSON.stringify(request());
}

function speak() {
  const requested = request();
  clearProblem();
  if (!requested.text.trim()) {
    say("There is nothing to speak: the text is empty.");
    text.focus();
    return;
  }
  sampler.stop();
  suggestion.look(requested.text);
  view("reading");
  past.add(requested);
  speaker.speak(requested);
}

/** Return to the text and stop the sound. */
function edit() {
  if (running()) say("Stopped.");
  speaker.stop();
  view("text");
}

/** @param {"text" | "reading"} shown */
function view(shown) {
  const inside = byId("paper").contains(document.activeElement);
  text.hidden = shown !== "text";
  byId("reading").hidden = shown !== "reading";
  byId("edit").hidden = shown !== "reading";
  byId("hint").hidden = shown !== "text";
  byId("open").hidden = shown !== "text";
  byId("clear").hidden = shown !== "text" || !text.value;
  if (inside) (shown === "text" ? text : play).focus();
  if (shown === "reading") byId("paper").scrollIntoView({ block: "nearest" });
}

/** @param {State} state */
function show(state) {
  const [symbol, name] = state === "ended" && !isRecorded() ? PLAY.idle : PLAY[state];
  play.dataset.state = state;
  setIcon(play, symbol);
  /** @type {Element} */ (play.lastElementChild).textContent = name;
  stop.disabled = !running();
  offer();
  if (state === "speaking") {
    say("Speaking.");
    requestAnimationFrame(follow);
  } else if (state === "paused") say("Paused.");
  else if (state === "ended" && speaker.record?.complete) say(`Finished: ${Math.round(speaker.record.seconds)} seconds of speech.`);
  paint();
}

/** Offer what can be saved and searched. */
function offer() {
  const record = currentRecord();
  const available = Boolean(record?.done && record.length);
  button("save").disabled = !available;
  spectrogram.show(available ? record : null);
  seek.disabled = !record?.length;
}

function follow() {
  paint();
  if (speaker.state === "speaking") requestAnimationFrame(follow);
}

/** Show the place in the speech: in the outline, on the clock, in the text. */
function paint() {
  const { state } = speaker;
  const record = currentRecord();
  const ended = state === "ended";
  const position = ended ? 0 : speaker.position;
  wave.draw(record, position);
  seek.max = String(record?.total ?? 0);
  seek.value = String(position);
  if (!record?.length) byId("clock").textContent = "";
  if (!record) return;
  const total = time(record.total);
  seek.ariaValueText = `${time(position)} of ${record.done ? "" : "about "}${total}`;
  if (record.length) byId("clock").textContent = `${time(position)} / ${record.done ? "" : "~"}${total}`;
  const place = ended ? record.words.length - 1 : record.wordAt(position);
  reading.end(ended);
  reading.show(place, !ended && place >= 0 && position <= record.words[place].end + LINGER);
}

/** @param {number} seconds @returns {string} `1:05` */
function time(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** Announce a message to screen readers. @param {string} message */
function say(message) {
  byId("status").textContent = message;
}

/** Play or stop a sample of a voice. @param {string} voice */
function hear(voice) {
  const again = sampler.request?.voice === voice && !["idle", "ended"].includes(sampler.state);
  sampler.stop();
  if (again) return;
  if (running()) speaker.pause(true);
  clearProblem();
  picker.sampling(voice);
  const { title, code } = describe(voice, picker.languages);
  sampler.speak({ text: languageOf(code, picker.languages).sample || `${title}.`, voice, speed: 1 });
}

async function keepFile() {
  const { record, request: spoken } = speaker;
  const name = format.selectedOptions[0].text;
  if (!record || !spoken) return;
  clearProblem();
  say(`Saving ${name}.`);
  try {
    await save(record, spoken, synthesizer, format.value);
  } catch (error) {
    showNotice(`The ${name} file could not be made. ${/** @type {Error} */ (error).message}`);
  }
}

/** Choose a voice that was added. @param {string} name */
async function openVoice(name) {
  clearProblem();
  picker.fill(await synthesizer.voices());
  picker.choose(name);
  settle({ voice: picker.value, lang: picker.lang });
  say(`${describe(name, picker.languages).title} is open.`);
}

/**
 * Replace the text by a file's.
 * @param {string} found
 * @param {string} name
 */
function open(found, name) {
  if (running()) speaker.stop();
  view("text");
  write(found);
  text.setSelectionRange(0, 0);
  text.scrollTop = 0;
  say(`${name} is open.`);
}

async function share() {
  const link = new URL(toFragment(request()), location.href).href;
  history.replaceState(null, "", link);
  const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
  say(copied ? "The link is copied." : "The link is in the address bar.");
  const shared = byId("share");
  shared.textContent = copied ? "Copied" : "In the address bar";
  setTimeout(() => (shared.textContent = "Copy link"), 2500);
}

/** Show what depends on the text. */
function edited() {
  const { length } = text.value.trim();
  byId("count").textContent = length ? `${length.toLocaleString("en")} ${length === 1 ? "character" : "characters"}` : "";
  byId("clear").hidden = text.hidden || !text.value;
  showExamples(text.value, picker.code);
  suggestion.lookSoon(text.value);
}

/** Replace the text, and go to it. @param {string} content */
function write(content) {
  clearProblem();
  clearNotices();
  apply({ text: content });
  show(speaker.state);
  text.focus();
}

/** Apply the request in the address. */
function followLink() {
  const requested = fromFragment(location.hash);
  apply(requested);
  if (requested.voice && picker.value !== requested.voice) {
    showNotice(`The link asks for the voice ${requested.voice}, which is not here. Choose another.`);
  }
  if (requested.text) edit();
}

/** @param {import("../runtime/remote.js").Way} way */
function onway(way) {
  showWay(way);
  if (way.notice) say(way.notice);
}

async function start() {
  play.disabled = true;
  /** @type {Element} */ (play.lastElementChild).textContent = "Loading…";
  try {
    const names = await synthesizer.voices();
    showThreads(await synthesizer.threads?.());
    await showBundle(synthesizer);
    picker.languages = languagesFrom(await synthesizer.spokenLanguages?.());
    picker.fill(names);
    past.open(names);
    if (!picker.choose(settings.voice ?? FIRST_VOICE, settings.lang) && !picker.choose(FIRST_VOICE)) picker.choose(names[0]);
    plain.checked = settings.plain ?? false;
    prose.checked = settings.prose ?? false;
    apply({ speed: settings.speed ?? 1 });
    followLink();
    play.disabled = false;
    wave.refresh();
  } catch (error) {
    fail(start)(/** @type {SpeechError} */ (error));
  }
  show(speaker.state);
}

text.addEventListener("input", () => {
  edited();
  show(speaker.state);
});
volume.value = String(settings.volume ?? 1);
setVolume(Number(volume.value));
volume.addEventListener("input", () => setVolume(Number(volume.value)));
volume.addEventListener("change", () => keep({ volume: Number(volume.value) }));
listenForExamples(write);
byId("clear").addEventListener("click", () => write(""));
speed.addEventListener("input", () => apply({}));
speed.addEventListener("change", () => settle({ speed: Number(speed.value) }));
plain.addEventListener("change", () => settle({ plain: plain.checked }));
prose.addEventListener("change", () => settle({ prose: prose.checked }));
seek.addEventListener("input", () => {
  speaker.seek(Number(seek.value));
  requestAnimationFrame(paint);
});
play.addEventListener("click", press);
stop.addEventListener("click", () => {
  edit();
  play.focus();
});
byId("edit").addEventListener("click", edit);
byId("share").addEventListener("click", share);
format.append(...formats(synthesizer).map(([suffix, name]) => new Option(name, suffix)));
if (formats(synthesizer).some(([suffix]) => suffix === settings.format)) format.value = settings.format ?? "";
format.addEventListener("change", () => keep({ format: format.value }));
button("save").addEventListener("click", keepFile);
listenForFiles(open, showNotice);
listenForVoices(synthesizer, openVoice, showNotice);
addEventListener("hashchange", followLink);
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target === find && find.value) return; // clears the search
  if (event.key === "Escape" && running()) edit();
  else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !running()) press();
});

await start();
