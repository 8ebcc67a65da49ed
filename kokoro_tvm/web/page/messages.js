/** Messages for a person when there is no speech: what happened, and what to do. */

/** @typedef {import("../synthesizer.js").SpeechError} SpeechError */

const ADVICE = {
  unreachable: ["The server does not answer.", "Check that it is running and that you are connected, then try again."],
  unauthorized: ["The server wants a key.", "Enter the key it was started with."],
  busy: ["The server is busy.", ""],
  too_long: ["The text is too long for one request.", "Split it, or speak a file in a terminal: kokoro-tvm say -i FILE."],
  refused: ["This cannot be spoken.", "Change the text or the voice, then try again."],
  unloadable: ["The bundle could not be loaded.", "Try again, or reload the page."],
  unsupported: ["This browser cannot compute speech.", "Use a current browser: Chrome, Edge, Firefox or Safari."],
  memory: ["There is too little memory to speak.", "Close other tabs and programs, then try again."],
  broken: ["The speech could not be computed.", "Reload the page."],
  failed: ["The server failed while it was speaking.", "Try again; its log says why."],
  interrupted: ["The connection was lost before the end.", "What has arrived can be heard. Try again for all of it."],
  no_audio: ["This browser cannot play the sound.", "Use a current browser, and allow the page to play sound."],
};
const DETAILED = ["failed", "unloadable", "unsupported", "memory", "broken", "no_audio"];
const COMMAND = /`[^\s`]+ [^`]*`/; // advice for the server's operator, which the page leaves out
const USUAL_WAIT = 5; // seconds, if a busy server names none

/** @param {SpeechError} error @returns {{what: string, advice: string, wait?: number}} wait: seconds until the next attempt */
export function explain({ kind, message, retryAfter }) {
  const [what, advice] = ADVICE[/** @type {keyof typeof ADVICE} */ (kind)] ?? ADVICE.failed;
  if (kind === "busy") return { what, advice, wait: Math.max(1, retryAfter ?? USUAL_WAIT) };
  if (kind === "too_long") {
    const [most, length] = (message.match(/\d+/g) ?? []).map((number) => Number(number).toLocaleString("en"));
    return { what: length ? `Too long: ${length} of ${most} characters.` : what, advice };
  }
  const sentences = message.split(/(?<=[.!?]) (?=[\p{Lu}`])/u);
  const shown = sentences.filter((sentence) => !COMMAND.test(sentence));
  const isAdvised = shown.length === sentences.length; // by the last sentence
  const detail = shown.join(" ").replaceAll("`input`", "The text");
  if (kind === "refused" && detail) return { what: detail, advice: isAdvised ? "" : advice };
  return { what: DETAILED.includes(kind) && detail ? `${what} ${detail}` : what, advice };
}
