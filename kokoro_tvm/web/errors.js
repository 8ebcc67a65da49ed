/** Errors that a caller may handle, as `kokoro_tvm/common/errors.py` has them. */

/** What a user gave cannot be spoken; the message says why, and what to do. */
export class InputError extends Error {
  name = "InputError";
}

/** A bundle is damaged, or of another layout than this version reads. */
export class BundleError extends Error {
  name = "BundleError";
}

/** The server or the connection to it failed; what there is stays, so that trying again goes on from there. */
export class ConnectionError extends Error {
  name = "ConnectionError";
}

/** This browser, or the way the page is served, lacks what computing speech needs; the message says what. */
export class UnsupportedError extends Error {
  name = "UnsupportedError";
}

/** The browser or the machine has no memory left for what is loaded. */
export class MemoryError extends Error {
  name = "MemoryError";
}
