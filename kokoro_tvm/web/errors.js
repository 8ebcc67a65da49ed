/** Errors that a caller may handle, as `kokoro_tvm/errors.py` has them. */

/** What a user gave cannot be spoken; the message says why, and what to do. */
export class InputError extends Error {
  name = "InputError";
}

/** A bundle is damaged, or of another layout than this version reads. */
export class BundleError extends Error {
  name = "BundleError";
}
