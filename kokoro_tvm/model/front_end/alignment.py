"""Align letters with phonemes: the best monotone alignment, trained on the lexicon.

A letter stands for none to three consecutive symbols. Viterbi training estimates the probability of (letter,
symbols): align all words, count, repeat. It follows Black, Lenzo and Pagel, "Issues in building general
letter to sound rules" (1998), without their table of allowed pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_MAX_SYMBOLS = 3  # of a letter
_ROUNDS = 6
_SHARE = 4  # train on every fourth word
_SMOOTHING = 0.1


def align(words: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the symbols of each letter for every (spelling, phonemes); () if a word cannot be aligned.

    The result depends on the words and their order alone.
    """
    letters = _numbers(spelling for spelling, _ in words)
    symbols = _numbers(phonemes for _, phonemes in words)
    # Costs by size: one symbol per letter is likely.
    shapes = [(len(letters) + 1, (len(symbols) + 1) ** size) for size in range(_MAX_SYMBOLS + 1)]
    costs = [np.full(shape, cost) for shape, cost in zip(shapes, (2.0, 1.0, 4.0, 7.0), strict=True)]
    some = _Batch(words[::_SHARE], letters, symbols)
    for _ in range(_ROUNDS):
        costs = some.count(some.viterbi(costs))
    sizes = _Batch(words, letters, symbols).viterbi(costs)
    alignments = []
    for (spelling, phonemes), word_sizes in zip(words, sizes.tolist(), strict=True):
        counts = word_sizes[: len(spelling)]
        ends = np.cumsum(counts).tolist()
        is_aligned = bool(ends) and ends[-1] == len(phonemes)
        alignments.append(
            tuple(phonemes[end - count : end] for count, end in zip(counts, ends, strict=True))
            if is_aligned
            else ()
        )
    return alignments


def _numbers(texts: Iterable[str]) -> dict[str, int]:
    """Assign numbers from 1 to the characters, in the order of their code points."""
    return {
        char: number
        for number, char in enumerate(sorted({character for text in texts for character in text}), start=1)
    }


class _Batch:
    """Padded words: letters (words, longest) and symbols (words, longest)."""

    def __init__(
        self, words: Sequence[tuple[str, str]], letters: Mapping[str, int], symbols: Mapping[str, int]
    ) -> None:
        self._letters, self._spelled = _padded([spelling for spelling, _ in words], letters)
        self._symbols, self._spoken = _padded([phonemes for _, phonemes in words], symbols)
        self._kinds, self._base = len(letters) + 1, len(symbols) + 1
        self._rows = np.arange(len(words))
        padded = np.pad(self._symbols, ((0, 0), (0, _MAX_SYMBOLS)))
        # codes[n][:, j]: the number of the n symbols from place j on.
        self._codes = [np.zeros((len(words), self._symbols.shape[1] + 1), np.int64)]
        for size in range(1, _MAX_SYMBOLS + 1):
            code = np.zeros_like(self._codes[0])
            for offset in range(size):
                code = code * self._base + padded[:, offset : offset + code.shape[1]]
            self._codes.append(code)

    def viterbi(self, costs: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
        """Return how many symbols each letter takes on the cheapest path, (words, letters)."""
        count, length = self._letters.shape
        width = self._symbols.shape[1] + 1
        best = np.full((count, width), np.inf)
        best[:, 0] = 0.0
        choices = np.zeros((length, count, width), np.int8)
        for place in range(length):
            rows = np.flatnonzero(self._letters[:, place])  # words with this letter
            letter, before = self._letters[rows, place, None], best[rows]
            after, choice = np.full_like(before, np.inf), np.zeros(before.shape, np.int8)
            for size, cost in enumerate(costs):
                # Costs beyond a word's symbols are never read.
                reached = before[:, : width - size] + cost[letter, self._codes[size][rows, : width - size]]
                better = reached < after[:, size:]
                np.copyto(after[:, size:], reached, where=better)
                choice[:, size:][better] = size
            best[rows] = after
            choices[place, rows] = choice
        sizes = np.zeros((count, length), np.int64)
        at = self._spoken.copy()
        for place in range(length - 1, -1, -1):
            is_letter = place < self._spelled
            sizes[:, place] = np.where(is_letter, choices[place][self._rows, at], 0)
            at = at - sizes[:, place]
        return sizes

    def count(self, sizes: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Return costs (negative logarithms) from how often each letter stood for which symbols."""
        starts = np.cumsum(sizes, axis=1) - sizes
        is_counted = np.arange(self._letters.shape[1])[None, :] < self._spelled[:, None]
        is_counted &= (sizes.sum(axis=1) == self._spoken)[:, None]
        counts = [np.full((self._kinds, self._base**size), _SMOOTHING) for size in range(_MAX_SYMBOLS + 1)]
        for size, table in enumerate(counts):
            rows, places = np.nonzero(is_counted & (sizes == size))
            code = self._codes[size][rows, starts[rows, places]]
            np.add.at(table, (self._letters[rows, places], code), 1.0)
        totals = sum(table.sum(axis=1) for table in counts)
        return [np.log(totals)[:, None] - np.log(table) for table in counts]


def _padded(texts: Sequence[str], numbers: Mapping[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return characters as numbers, padded with 0, and lengths."""
    lengths = np.array([len(text) for text in texts], np.int64)
    padded = np.zeros((len(texts), int(lengths.max(initial=0))), np.int64)
    for row, text in enumerate(texts):
        padded[row, : len(text)] = [numbers[char] for char in text]
    return padded, lengths
