/** Where the listener is, reckoned between two reports of the audio thread. */

/** @typedef {{played: number, flowing: boolean, at: number}} Report samples; seconds of the device's clock */

/**
 * Reports are late, and more so on a busy machine: sound may have run dry since the last one, or begun again. So the
 * place is reckoned forward from a report, never past what the audio thread has, and it never goes back.
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
