"""Which phonemes each letter of a word stands for: the best monotone alignment, learned from the lexicon.

A letter stands for none to three symbols, which follow each other. Probabilities of (letter, symbols) are
estimated by Viterbi training: align all words by the present ones, count, repeat. The idea is that of Black,
Lenzo and Pagel, "Issues in building general letter to sound rules" (1998), without their table of what is
allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["align"]

_MOST = 3  # symbols a letter may stand for
_ROUNDS = 6
_SHARE = 4  # probabilities are estimated on every fourth word
_SMOOTHING = 0.1


def align(words: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """For every (spelling, phonemes) the symbols of each letter; empty for a word that cannot be aligned.

    The same words in the same order give the same result.
    """
    letters = _numbers(spelling for spelling, _ in words)
    symbols = _numbers(phonemes for _, phonemes in words)
    # By size: one symbol a letter is likely, more or none are not.
    shapes = [(len(letters) + 1, (len(symbols) + 1) ** size) for size in range(_MOST + 1)]
    costs = [np.full(shape, cost) for shape, cost in zip(shapes, (2.0, 1.0, 4.0, 7.0), strict=True)]
    some = _Batch(words[::_SHARE], letters, symbols)
    for _ in range(_ROUNDS):
        costs = some.count(some.viterbi(costs))
    sizes = _Batch(words, letters, symbols).viterbi(costs)
    found = []
    for (spelling, phonemes), taken in zip(words, sizes.tolist(), strict=True):
        counts = taken[: len(spelling)]
        ends = np.cumsum(counts).tolist()
        whole = bool(ends) and ends[-1] == len(phonemes)
        found.append(tuple(phonemes[e - n : e] for n, e in zip(counts, ends, strict=True)) if whole else ())
    return found


def _numbers(texts: Iterable[str]) -> dict[str, int]:
    """Characters as numbers from 1, in the order of their code points."""
    return {char: number for number, char in enumerate(sorted({c for t in texts for c in t}), start=1)}


class _Batch:
    """Words side by side, padded with 0: letters (words, longest) and symbols (words, longest)."""

    def __init__(
        self, words: Sequence[tuple[str, str]], letters: Mapping[str, int], symbols: Mapping[str, int]
    ) -> None:
        self._letters, self._spelled = _padded([spelling for spelling, _ in words], letters)
        self._symbols, self._spoken = _padded([phonemes for _, phonemes in words], symbols)
        self._kinds, self._base = len(letters) + 1, len(symbols) + 1
        self._rows = np.arange(len(words))
        padded = np.pad(self._symbols, ((0, 0), (0, _MOST)))
        # codes[n][:, j]: the number of the n symbols from place j on.
        self._codes = [np.zeros((len(words), self._symbols.shape[1] + 1), np.int64)]
        for size in range(1, _MOST + 1):
            code = np.zeros_like(self._codes[0])
            for offset in range(size):
                code = code * self._base + padded[:, offset : offset + code.shape[1]]
            self._codes.append(code)

    def viterbi(self, costs: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
        """How many symbols each letter takes on the cheapest way, (words, letters)."""
        count, length = self._letters.shape
        width = self._symbols.shape[1] + 1
        best = np.full((count, width), np.inf)
        best[:, 0] = 0.0
        taken = np.zeros((length, count, width), np.int8)
        for place in range(length):
            rows = np.flatnonzero(self._letters[:, place])  # of the words that are so long
            letter, before = self._letters[rows, place, None], best[rows]
            after, choice = np.full_like(before, np.inf), np.zeros(before.shape, np.int8)
            for size, cost in enumerate(costs):
                # What runs beyond a word's symbols ends nowhere: its cost is never read.
                reached = before[:, : width - size] + cost[letter, self._codes[size][rows, : width - size]]
                better = reached < after[:, size:]
                np.copyto(after[:, size:], reached, where=better)
                choice[:, size:][better] = size
            best[rows] = after
            taken[place, rows] = choice
        sizes = np.zeros((count, length), np.int64)
        at = self._spoken.copy()
        for place in range(length - 1, -1, -1):
            used = place < self._spelled
            sizes[:, place] = np.where(used, taken[place][self._rows, at], 0)
            at = at - sizes[:, place]
        return sizes

    def count(self, sizes: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Costs, as negative logarithms, from how often each letter stood for which symbols."""
        starts = np.cumsum(sizes, axis=1) - sizes
        used = np.arange(self._letters.shape[1])[None, :] < self._spelled[:, None]
        used &= (sizes.sum(axis=1) == self._spoken)[:, None]
        counts = [np.full((self._kinds, self._base**size), _SMOOTHING) for size in range(_MOST + 1)]
        for size, table in enumerate(counts):
            rows, places = np.nonzero(used & (sizes == size))
            code = self._codes[size][rows, starts[rows, places]]
            np.add.at(table, (self._letters[rows, places], code), 1.0)
        totals = sum(table.sum(axis=1) for table in counts)
        return [np.log(totals)[:, None] - np.log(table) for table in counts]


def _padded(texts: Sequence[str], numbers: Mapping[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Characters as numbers, padded with 0; and lengths."""
    lengths = np.array([len(text) for text in texts], np.int64)
    found = np.zeros((len(texts), int(lengths.max(initial=0))), np.int64)
    for row, text in enumerate(texts):
        found[row, : len(text)] = [numbers[char] for char in text]
    return found, lengths
