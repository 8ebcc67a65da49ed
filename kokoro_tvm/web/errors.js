/** Errors that a caller may handle, as in `kokoro_tvm/common/errors.py`. */

/** Invalid input of a user; the message says why, and what to do. */
export class InputError extends Error {
  name = "InputError";
}

/** A damaged bundle, or one with another layout. */
export class BundleError extends Error {
  name = "BundleError";
}

/** A failed server or connection. Loaded data stays, so that another attempt continues. */
export class ConnectionError extends Error {
  name = "ConnectionError";
}

/** A missing feature of the browser or of how the page is served, which the message names. */
export class UnsupportedError extends Error {
  name = "UnsupportedError";
}

/** Not enough memory in the browser or the machine. */
export class MemoryError extends Error {
  name = "MemoryError";
}
