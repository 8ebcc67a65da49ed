"""Lengths: 2.5 s of speech, and the tokens of a sentence of 5 s."""

TOKENS = 85
FRAMES = 100
HALF_FRAMES = 2 * FRAMES
FIRST = 10 * HALF_FRAMES  # steps behind the first upsampling, 256 channels
SECOND = 6 * FIRST + 1  # behind the second, 128 channels
SAMPLES = 300 * HALF_FRAMES
