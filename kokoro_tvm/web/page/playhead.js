/** Estimate of the listener's place between two reports of the audio thread. */

/** @typedef {{played: number, flowing: boolean, at: number}} Report samples; seconds of the device's clock */

/**
 * Reports come late, later on a busy machine: sound may have stopped or started since. So the place is extrapolated
 * from a report, never beyond the audio thread's samples, and it never decreases.
 */
export class Playhead {
  /** The sample at which the listener began. */
  origin = 0;
  #reached = 0;

  /** @param {number} origin the sample at which the listener begins now */
  begin(origin) {
    this.origin = this.#reached = origin;
  }

  /**
   * @param {Report} report the last one since `begin`
   * @param {number} now seconds of the device's clock
   * @param {number} latency seconds from the audio thread to the ear
   * @param {number} sent the sample up to which the audio thread has them
   * @param {number} sampleRate
   * @returns {number} samples
   */
  place({ played, flowing, at }, now, latency, sent, sampleRate) {
    const since = Math.max(0, now - at) - latency;
    const heard = this.origin + played + (flowing ? since : Math.min(0, since)) * sampleRate;
    this.#reached = Math.max(this.#reached, Math.min(heard, sent));
    return this.#reached;
  }
}
