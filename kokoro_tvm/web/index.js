/** Exports of the package: the local synthesizer, the server's synthesizer, and their results. */

export { BundleSynthesizer as Synthesizer } from "./bundle_synthesizer.js";
export { BundleError, InputError } from "./errors.js";
export { HttpSynthesizer } from "./http_synthesizer.js";
export { Piece, Plan, Word } from "./plan.js";
export { Speech } from "./speech.js";
export { SpeechError } from "./synthesizer.js";
