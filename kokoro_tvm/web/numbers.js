/** Numbers that Python, C and JavaScript share; tests compare them with Python's. */

/** Seconds; a typing mistake must not exhaust the memory. */
export const LONGEST_PAUSE = 3600;
/** Smallest and largest factor of pitch and of a word's speed. @type {[number, number]} */
export const FACTORS = [0.1, 10];
/** Smallest and largest speed of the model. Beyond them, sounds are lost or drawn out. @type {[number, number]} */
export const SPEEDS = [0.25, 4];
/** Seconds that are kept before the place of the first sound. */
export const ATTACK = 0.15;
/** Seconds that are kept after the last sound. */
export const RELEASE = 0.05;
/** Seconds of a fade. */
export const FADE = 0.01;
/** Maximum frames of the last phoneme before a pause; the rest is silence (docs/timing.py). */
export const LAST_SOUND = 5;
/** Frames by which a token is heard before its place in the durations (docs/timing.py). */
export const EARLY_FRAMES = 2;
/** Frames before the space after a word at which an utterance is cut. */
export const CUT_FRAMES = 1;
/** Frames beyond a cut that are decoded but not heard. */
export const HALO_FRAMES = 32;
/** Minimum frames at speed 1 of a word's last phoneme before a pause without a mark. */
export const PAUSING_SOUND = 6;
