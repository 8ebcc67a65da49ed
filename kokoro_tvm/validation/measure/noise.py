"""Whether noise is noise: judged by numbers of another source and by its own statistics (numpy only).

The references have the noise that compiled code draws: no comparison with them says anything about it.
"""

from __future__ import annotations

import numpy as np

from kokoro_tvm.kernels.noise import NUMPY, block, draw_noise, philox
from kokoro_tvm.validation.measure.gates import Verdict, none_off

__all__ = ["KNOWN_WORDS", "deviation", "judge_noise", "words_off"]

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

_MOST = 5.0
_BLOCKS = 1 << 12  # of four samples, at every power of two
_NUMBERS = 1 << 16  # of which statistics are made, however short an utterance is
# Of a standard normal number: power, its mean, the variance of it.
_MOMENTS = ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96))


def judge_noise(seed: int, piece: int) -> list[Verdict]:
    """Random words as Random123 publishes them; the piece's noise normal, and another than the first's."""
    apart = deviation(seed, piece)
    return [
        none_off("max_random_words_off", float(words_off()), "noise"),
        Verdict("max_noise_deviation", apart, _MOST, apart <= _MOST, "noise"),
    ]


def words_off() -> int:
    """How many of Random123's words come out otherwise."""
    found = [philox(NUMPY, _words(counter), _words(key)) for counter, key, _ in KNOWN_WORDS]
    return sum(
        int(word[0]) != known
        for words, (*_, answer) in zip(found, KNOWN_WORDS, strict=True)
        for word, known in zip(words, answer, strict=True)
    )


def deviation(seed: int, piece: int) -> float:
    """The largest of what the noise is off by, in standard errors: its first four moments from the normal
    distribution's; its correlations with itself moved, with other seeds' and pieces' noise, and with its
    noise further on by every power of two blocks up to 2**31, from 0."""
    noise = draw_noise(seed, _NUMBERS, piece).astype(np.float64)
    found = [abs(np.mean(noise**p) - mean) / np.sqrt(variance / noise.size) for p, mean, variance in _MOMENTS]
    others: list[np.ndarray] = [noise[lag:] for lag in (1, 2, 3, 4)]
    others += [draw_noise(seed ^ (1 << bit), _NUMBERS, piece) for bit in (0, 31, 32, 63)]
    others += [draw_noise(seed, _NUMBERS, piece ^ (1 << bit)) for bit in (0, 31)]
    others += [_blocks(seed, piece, 1 << bit) for bit in range(32)]
    for other in others:
        found.append(abs(np.mean(noise[: other.size] * other[: noise.size])) * np.sqrt(other.size))
    return float(max(found))


def _blocks(seed: int, piece: int, first: int) -> np.ndarray:
    """The noise of a piece from block `first` on, as far as what it is compared with, float64 (samples,)."""
    place = np.arange(first, first + _BLOCKS, dtype=np.uint32)
    number, zero, *key = _words((piece, 0, seed & 0xFFFFFFFF, seed >> 32))
    return np.stack(block(NUMPY, place, number, zero, tuple(key)), axis=1).astype(np.float64).reshape(-1)


def _words(values: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(np.array([value], np.uint32) for value in values)
