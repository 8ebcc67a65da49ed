/** Messages for a person when there is no speech: what happened, and what to do. */

/** @typedef {import("../synthesizer.js").SpeechError} SpeechError */

const ADVICE = {
  unreachable: ["The server does not answer.", "Check that it is running and that you are connected, then try again."],
  unauthorized: ["The server wants a key.", "Enter the key it was started with."],
  too_long: ["The text is too long for one request.", "Speak it in parts."],
  refused: ["This cannot be spoken.", "Change the text or the voice, then try again."],
  unloadable: ["What speaks could not be loaded.", "Try again, or reload the page."],
  unsupported: ["This browser cannot compute speech.", "Use a current browser: Chrome, Edge, Firefox or Safari."],
  memory: ["There is too little memory to speak.", "Close other tabs and programs, then try again."],
  broken: ["The speech could not be computed.", "Reload the page."],
  failed: ["The server failed while it was speaking.", "Try again; its log says why."],
  interrupted: ["The connection was lost before the end.", "What has arrived can be heard. Try again for all of it."],
  no_audio: ["This browser cannot play the sound.", "Use a current browser, and allow the page to play sound."],
};

/** @param {SpeechError} error @returns {{what: string, advice: string}} */
export function explain({ kind, message, retryAfter }) {
  if (kind === "busy") {
    const when = retryAfter === null ? "in a moment" : `in ${retryAfter} ${retryAfter === 1 ? "second" : "seconds"}`;
    return { what: "The server has as much to do as it accepts.", advice: `Try again ${when}.` };
  }
  const [what, advice] = ADVICE[/** @type {keyof typeof ADVICE} */ (kind)] ?? ADVICE.failed;
  const detail = ofThePage(message);
  const detailed = ["refused", "failed", "unloadable", "unsupported", "memory", "broken", "too_long", "no_audio"].includes(kind) && detail;
  return { what: detailed ? `${what} ${detail}` : what, advice };
}

/** Return a message without advice for the server's operator: commands, and names of fields. @param {string} message */
function ofThePage(message) {
  const sentences = message.split(/(?<=[.!?]) (?=[\p{Lu}`])/u).filter((sentence) => !/`[^\s`]+ [^`]*`/.test(sentence));
  return sentences.join(" ").replaceAll("`input`", "The text");
}
