"""The noise of an utterance: a standard normal number a sample, of a seed, a piece and the sample's place.

Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011) gives four random words for a
key, the seed, and a counter, the place; Box and Muller's transform makes two normal numbers of two words.
Everything is 32-bit integers up to the last step, which is exact, so the same bits come out wherever it is
computed: no rounding, contraction to fused operations or library of elementary functions has a say.

A number is a multiple of 2**-21, at most 6.66 in magnitude. It is within 2**-20 of the transform in exact
arithmetic (root mean square 2**-22.7); of one pair in 2**23, whose radius is under 2**-11, within 2**-17.

The arithmetic is written once, over `Words`: of numpy here (`draw_noise`, the reference), of compiled code in
`kernels/normal_noise.py`.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["NUMPY", "Words", "block", "deviate", "draw_noise", "philox"]

Word = Any  # a word or an array, a vector, an expression of them

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85  # of the key, from round to round
_ROUNDS = 10
_BLOCK = 1 << 14  # blocks that numpy makes at a time, so that they stay in the cache

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
    """Arithmetic of 32-bit words. Besides, they have the operators + and - for what is known to stay within a
    word (TVM's generated code may do anything where it does not), and ^ & | ~ << >> <."""

    def const(self, value: int) -> Word: ...

    def add(self, a: Word, b: Word) -> Word:
        """a + b modulo 2**32."""

    def low(self, a: Word, b: Word) -> Word:
        """a * b modulo 2**32."""

    def high(self, a: Word, b: Word) -> Word:
        """The upper half of the 64 bits of a * b."""

    def select(self, condition: Any, yes: Any, no: Any) -> Any: ...

    def let(self, value: Any) -> Any:
        """The value, computed once."""

    def real(self, word: Word) -> Any:
        """float32 of a word below 2**24, exactly."""

    def scale(self, value: float) -> Any:
        """A float32 constant."""


def philox(words: Words, counter: tuple[Word, ...], key: tuple[Word, ...]) -> tuple[Word, ...]:
    """Four random words of a counter of four and a key of two."""
    a, b, c, d = counter
    left, right = key
    first, second = map(words.const, _MULTIPLIERS)
    for number in range(_ROUNDS):
        if number:
            left, right = (
                words.let(words.add(k, words.const(s))) for k, s in zip((left, right), _STEPS, strict=True)
            )
        a, b, c, d = (
            words.let(words.high(second, c) ^ b ^ left),
            words.let(words.low(second, c)),
            words.let(words.high(first, a) ^ d ^ right),
            words.let(words.low(first, a)),
        )
    return a, b, c, d


def deviate(words: Words, radius: Word, turn: Word) -> Any:
    """One normal number, float32: the sine of `turn` / 2**32 turns times sqrt(-2 ln u), u = `radius` / 2**32.

    u lies within its word's step and is never 0: see `_radius`. A cosine is the sine of a quarter turn more.
    """
    length, halvings = _radius(words, radius)
    magnitude = words.let(words.high(length, _sine(words, turn)))  # halved, 2**30 for 1, without the halvings
    rounded = (magnitude + (words.const(1) << (halvings - words.const(1)))) >> halvings
    # 2**-21 in three factors, because the C that TVM writes has seven digits of a constant.
    factor = words.scale(2.0**-7)
    sign = words.select(turn < words.const(1 << 31), factor, words.scale(-(2.0**-7)))
    return words.real(rounded) * factor * factor * sign


def _radius(words: Words, word: Word) -> tuple[Word, Word]:
    """sqrt(-2 ln u) as (root, shift): root * 2**-(22 + shift), which with a sine of 2**31 gives 2**21 for 1.

    u = 2**-zeros * (1 + (t + 1) / 2**32) / 2, where `zeros` (31 at most) lead the word and t is what follows
    its first one.
    """
    normal, zeros = _normalised(words, word, (16, 8, 4, 2, 1))
    t = words.let(normal << words.const(1))
    below = words.let(words.high(~t, _alternating(words, t, _LOGARITHM, 32)))  # of -log2 u, behind the point
    small = zeros < words.const(1)
    # -log2 u with 32 bits behind the point where it is below 1, so that small radii are exact, else with 26.
    fixed = words.select(small, below, (zeros << words.const(26)) + (below >> words.const(6)))
    w, twice = _normalised(words, words.let(fixed), (16, 8, 4, 2))
    y = words.let(_constant(words, _ROOT[0], 30) - words.high(w, _constant(words, _ROOT[1], 30)))
    for _ in range(3):  # Newton's iteration for 1 / sqrt(w)
        error = words.let(words.const(3 << 28) - words.high(w, words.let(words.high(y, y))))
        y = words.let(words.high(y, error << words.const(2)) << words.const(1))
    root = words.let(words.high(w, y) << words.const(1))
    length = words.let(words.high(root, _constant(words, math.sqrt(2 * math.log(2)), 31)))
    return length, words.let(words.select(small, words.const(8), words.const(5)) + (twice >> words.const(1)))


def _sine(words: Words, turn: Word) -> Word:
    """|sin| of a turn, 2**31 for 1, in the middle of the turn's step."""
    half = words.let((turn << words.const(1)) | words.const(1))
    quarter = words.select(half < words.const(1 << 31), half, ~half + words.const(1))
    y = words.let(quarter << words.const(1))
    return words.high(y, _alternating(words, words.let(words.high(y, y)), _SINE, 31))


def _alternating(words: Words, x: Word, coefficients: tuple[float, ...], bits: int) -> Word:
    """c0 - x (c1 - x (c2 - ...)) for x / 2**32 in [0, 1), 2**bits for 1; no difference may be negative."""
    *rest, last = coefficients
    value = _constant(words, last, bits)
    for coefficient in reversed(rest):
        value = words.let(_constant(words, coefficient, bits) - words.high(x, value))
    return value


def _constant(words: Words, value: float, bits: int) -> Word:
    return words.const(round(value * 2**bits))


def _normalised(words: Words, word: Word, steps: tuple[int, ...]) -> tuple[Word, Word]:
    """The word shifted to the left by as many of the steps as leave its first one in it, and by how much."""
    shifted = words.const(0)
    for step in steps:
        room = word < words.const(1 << (32 - step))
        shifted = words.let(words.select(room, shifted + words.const(step), shifted))
        word = words.let(words.select(room, word << words.const(step), word))
    return word, shifted


class _Numpy:
    """`Words` of numpy arrays."""

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


NUMPY: Words = _Numpy()


def draw_noise(seed: int, samples: int, piece: int = 0) -> NDArray[np.float32]:
    """The noise of a piece, (samples,) float32; seed and piece are below 2**64 and 2**32.

    Sample 4 k + j is number j of the block with the key `seed` and the counter (k, piece, 0, 0), so a shorter
    noise begins a longer one. Words 0 and 1 of a block give numbers 0, the cosine, and 1; words 2 and 3 the
    others.
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
    """The four normal numbers of a block."""
    random = philox(words, (place, piece, zero, zero), key)
    return [deviate(words, *pair(words, random, j)) for j in range(4)]


def pair(words: Words, random: tuple[Word, ...], j: int) -> tuple[Word, Word]:
    """The words of a block that its number j is made of: radius, and turn."""
    radius, turn = random[j // 2 * 2 : j // 2 * 2 + 2]
    return radius, turn if j % 2 else words.let(words.add(turn, words.const(1 << 30)))
