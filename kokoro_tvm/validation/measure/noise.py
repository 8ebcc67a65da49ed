"""Judge the noise by published numbers and by its statistics. Needs only numpy.

The references use the noise that compiled code draws, so a comparison with them does not judge it.
"""

from __future__ import annotations

import numpy as np

from kokoro_tvm.common.noise import NUMPY, block, draw_noise, philox
from kokoro_tvm.validation.measure.gates import Verdict, none_off

KNOWN_WORDS = (
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)
"""Counter, key and random words of philox4x32 with 10 rounds: `kat_vectors` of Random123."""

_MAX_DEVIATION = 5.0  # standard errors
_BLOCKS = 1 << 12  # of four samples, at every power of two
_NUMBERS = 1 << 16  # samples of the statistics, however short an utterance is
# Power of a standard normal number, mean and variance of the power.
_MOMENTS = ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96))


def judge_noise(seed: int, piece: int) -> list[Verdict]:
    """Judge the random words, and whether the noise of a piece is normal and independent of others."""
    deviation = measure_deviation(seed, piece)
    return [
        none_off("max_random_words_off", float(count_words_off()), "noise"),
        Verdict("max_noise_deviation", deviation, _MAX_DEVIATION, deviation <= _MAX_DEVIATION, "noise"),
    ]


def count_words_off() -> int:
    """Count the random words that differ from those of Random123."""
    results = [philox(NUMPY, _to_words(counter), _to_words(key)) for counter, key, _ in KNOWN_WORDS]
    return sum(
        int(word[0]) != expected
        for words, (*_, answer) in zip(results, KNOWN_WORDS, strict=True)
        for word, expected in zip(words, answer, strict=True)
    )


def measure_deviation(seed: int, piece: int) -> float:
    """Return the largest deviation of the noise from independent normal numbers, in standard errors.

    Measured are the first four moments, and the correlations with the shifted noise, with the noise of other
    seeds and pieces, and with the noise later by every power of two blocks up to 2**31.
    """
    noise = draw_noise(seed, _NUMBERS, piece).astype(np.float64)
    deviations = [
        abs(np.mean(noise**p) - mean) / np.sqrt(variance / noise.size) for p, mean, variance in _MOMENTS
    ]
    others: list[np.ndarray] = [noise[lag:] for lag in (1, 2, 3, 4)]
    others += [draw_noise(seed ^ (1 << bit), _NUMBERS, piece) for bit in (0, 31, 32, 63)]
    others += [draw_noise(seed, _NUMBERS, piece ^ (1 << bit)) for bit in (0, 31)]
    others += [_draw_blocks(seed, piece, 1 << bit) for bit in range(32)]
    for other in others:
        deviations.append(abs(np.mean(noise[: other.size] * other[: noise.size])) * np.sqrt(other.size))
    return float(max(deviations))


def _draw_blocks(seed: int, piece: int, first: int) -> np.ndarray:
    """Draw the noise of a piece from block `first` on: (samples,) float64."""
    blocks = np.arange(first, first + _BLOCKS, dtype=np.uint32)
    number, zero, *key = _to_words((piece, 0, seed & 0xFFFFFFFF, seed >> 32))
    return np.stack(block(NUMPY, blocks, number, zero, tuple(key)), axis=1).astype(np.float64).reshape(-1)


def _to_words(values: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Return words as arrays (1,), as `philox` takes them."""
    return tuple(np.array([value], np.uint32) for value in values)
