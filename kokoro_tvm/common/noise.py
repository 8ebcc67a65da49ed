"""Noise of an utterance: one standard normal number per sample, from seed, piece and place of the sample.

Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011) returns four random words
for a key, the seed, and a counter, the place. The Box-Muller transform converts two words to two normal
numbers. All steps are 32-bit integer arithmetic, but for the last one, which is exact. So the bits are the
same everywhere: rounding, fused operations and libraries of elementary functions have no influence.

A number is a multiple of 2**-21, at most 6.66 in magnitude. It is within 2**-20 of the transform in exact
arithmetic (root mean square 2**-22.7); in one pair of 2**23, whose radius is under 2**-11, within 2**-17.

The arithmetic is written once, over `Words`: numpy here (`draw_noise`, the reference), compiled code in
`kernels/normal_noise.py`.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Word = Any  # a word or an array, a vector, an expression of them

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85  # increments of the key between rounds
_ROUNDS = 10
_BLOCK = 1 << 14  # blocks that numpy computes at once, so that they fit in the cache

# Near-minimax polynomials, lowest power first, signs alternating.
_LOGARITHM = (  # -log2(1 - h / 2) / h with h = 1 - t, |error| < 2e-8 for t in [0, 1]
    *(0.99999998, 0.44269159, 0.27855241, 0.2011144, 0.15185925, 0.10771082, 0.0616135, 0.02331843),
    0.00415763,
)
_SINE = (  # sin(pi / 2 * y) / y of y * y, |error| < 7e-9 for y in [0, 1]
    *(1.57079632, 0.645963761, 0.0796899269, 0.0046741575, 0.000151678532),
)
_ROOT = 2.13276957, 1.2187226  # 1 / sqrt(w), relative |error| < 0.09 for w in [1/4, 1]


class Words(Protocol):
    """Arithmetic of 32-bit words, which also have the operators ^ & | ~ << >> <.

    The operators + and - are allowed if the result fits a word; otherwise TVM's code is undefined.
    """

    def const(self, value: int) -> Word:
        """Return a constant word."""

    def add(self, a: Word, b: Word) -> Word:
        """Return a + b modulo 2**32."""

    def low(self, a: Word, b: Word) -> Word:
        """Return a * b modulo 2**32."""

    def high(self, a: Word, b: Word) -> Word:
        """Return the upper half of the 64 bits of a * b."""

    def select(self, condition: Any, yes: Any, no: Any) -> Any:
        """Return `yes` if the condition holds, else `no`."""

    def let(self, value: Any) -> Any:
        """Bind a value, so that it is computed once."""

    def real(self, word: Word) -> Any:
        """Convert a word below 2**24 to float32, exactly."""

    def scale(self, value: float) -> Any:
        """Return a float32 constant."""


def philox(words: Words, counter: tuple[Word, ...], key: tuple[Word, ...]) -> tuple[Word, ...]:
    """Compute four random words from a counter of four words and a key of two."""
    a, b, c, d = counter
    key_a, key_b = key
    first, second = map(words.const, _MULTIPLIERS)
    for number in range(_ROUNDS):
        if number:
            key_a, key_b = (
                words.let(words.add(k, words.const(s))) for k, s in zip((key_a, key_b), _STEPS, strict=True)
            )
        a, b, c, d = (
            words.let(words.high(second, c) ^ b ^ key_a),
            words.let(words.low(second, c)),
            words.let(words.high(first, a) ^ d ^ key_b),
            words.let(words.low(first, a)),
        )
    return a, b, c, d


def deviate(words: Words, radius: Word, turn: Word) -> Any:
    """Compute one normal number, float32: the sine of `turn` / 2**32 turns times sqrt(-2 ln u).

    u is `radius` / 2**32, within its word's step and never 0: see `_radius`. A cosine is the sine of a
    quarter turn more.
    """
    length, halvings = _radius(words, radius)
    magnitude = words.let(words.high(length, _sine(words, turn)))  # halved, 2**30 for 1, without the halvings
    rounded = (magnitude + (words.const(1) << (halvings - words.const(1)))) >> halvings
    # 2**-21 in three factors, because the C that TVM writes has seven digits of a constant.
    factor = words.scale(2.0**-7)
    sign = words.select(turn < words.const(1 << 31), factor, words.scale(-(2.0**-7)))
    return words.real(rounded) * factor * factor * sign


def _radius(words: Words, word: Word) -> tuple[Word, Word]:
    """Compute sqrt(-2 ln u) as (root, shift), that is root * 2**-(22 + shift).

    With a sine of 2**31 for 1, the product has 2**21 for 1. u = 2**-zeros * (1 + (t + 1) / 2**32) / 2:
    `zeros` (31 at most) lead the word, and t follows its first one.
    """
    normal, zeros = _normalize(words, word, (16, 8, 4, 2, 1))
    t = words.let(normal << words.const(1))
    below = words.let(words.high(~t, _alternating(words, t, _LOGARITHM, 32)))  # fraction of -log2 u
    small = zeros < words.const(1)
    # -log2 u with 32 fractional bits if it is below 1, so that small radii are exact, else with 26.
    fixed = words.select(small, below, (zeros << words.const(26)) + (below >> words.const(6)))
    w, twice = _normalize(words, words.let(fixed), (16, 8, 4, 2))
    y = words.let(_fixed_point(words, _ROOT[0], 30) - words.high(w, _fixed_point(words, _ROOT[1], 30)))
    for _ in range(3):  # Newton's iteration for 1 / sqrt(w)
        error = words.let(words.const(3 << 28) - words.high(w, words.let(words.high(y, y))))
        y = words.let(words.high(y, error << words.const(2)) << words.const(1))
    root = words.let(words.high(w, y) << words.const(1))
    length = words.let(words.high(root, _fixed_point(words, math.sqrt(2 * math.log(2)), 31)))
    return length, words.let(words.select(small, words.const(8), words.const(5)) + (twice >> words.const(1)))


def _sine(words: Words, turn: Word) -> Word:
    """Compute |sin| in the middle of the turn's step, with 2**31 for 1."""
    half = words.let((turn << words.const(1)) | words.const(1))
    quarter = words.select(half < words.const(1 << 31), half, ~half + words.const(1))
    y = words.let(quarter << words.const(1))
    return words.high(y, _alternating(words, words.let(words.high(y, y)), _SINE, 31))


def _alternating(words: Words, x: Word, coefficients: tuple[float, ...], bits: int) -> Word:
    """Compute c0 - x (c1 - x (c2 - ...)) for x / 2**32 in [0, 1), with 2**bits for 1.

    No difference may be negative.
    """
    *rest, last = coefficients
    value = _fixed_point(words, last, bits)
    for coefficient in reversed(rest):
        value = words.let(_fixed_point(words, coefficient, bits) - words.high(x, value))
    return value


def _fixed_point(words: Words, value: float, bits: int) -> Word:
    """Return a constant as a fixed-point word with `bits` bits behind the point."""
    return words.const(round(value * 2**bits))


def _normalize(words: Words, word: Word, steps: tuple[int, ...]) -> tuple[Word, Word]:
    """Shift a word to the left by all steps that keep its first one; return it and the total shift."""
    shifted = words.const(0)
    for step in steps:
        room = word < words.const(1 << (32 - step))
        shifted = words.let(words.select(room, shifted + words.const(step), shifted))
        word = words.let(words.select(room, word << words.const(step), word))
    return word, shifted


class _NumpyWords:
    """`Words` over numpy arrays."""

    def const(self, value: int) -> Word:
        return np.array([value], np.uint32)

    def add(self, a: Word, b: Word) -> Word:
        return a + b

    def low(self, a: Word, b: Word) -> Word:
        return a * b

    def high(self, a: Word, b: Word) -> Word:
        return ((a.astype(np.uint64) * b) >> np.uint64(32)).astype(np.uint32)

    def select(self, condition: Any, yes: Any, no: Any) -> Any:
        return np.where(condition, yes, no)

    def let(self, value: Any) -> Any:
        return value

    def real(self, word: Word) -> Any:
        return word.astype(np.float32)

    def scale(self, value: float) -> Any:
        return np.float32(value)


NUMPY: Words = _NumpyWords()


def draw_noise(seed: int, samples: int, piece: int = 0) -> NDArray[np.float32]:
    """Draw the noise of a piece.

    Sample 4 k + j is number j of the block with the key `seed` and the counter (k, piece, 0, 0), so a longer
    noise begins with a shorter one.

    Args:
        seed: Below 2**64.
        samples: Number of samples.
        piece: Below 2**32.

    Returns:
        (samples,) float32.
    """
    low, high, number = (np.array([word], np.uint32) for word in (seed & 0xFFFFFFFF, seed >> 32, piece))
    noise = np.empty((-(-samples // 4), 4), np.float32)
    zero = np.zeros(1, np.uint32)
    for begin in range(0, len(noise), _BLOCK):
        part = noise[begin : begin + _BLOCK]
        place = np.arange(begin, begin + len(part), dtype=np.uint32)
        part[:] = np.stack(block(NUMPY, place, number, zero, (low, high)), axis=1)
    return noise.reshape(-1)[:samples]


def block(words: Words, place: Word, piece: Word, zero: Word, key: tuple[Word, ...]) -> list[Any]:
    """Compute the four normal numbers of a block."""
    random = philox(words, (place, piece, zero, zero), key)
    return [deviate(words, *pair(words, random, j)) for j in range(4)]


def pair(words: Words, random: tuple[Word, ...], j: int) -> tuple[Word, Word]:
    """Select the words for number j of a block: radius and turn."""
    radius, turn = random[j // 2 * 2 : j // 2 * 2 + 2]
    return radius, turn if j % 2 else words.let(words.add(turn, words.const(1 << 30)))
