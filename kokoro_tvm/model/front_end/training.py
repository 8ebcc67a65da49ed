"""Train a joint n-gram model: align letters with phonemes, count, smooth and prune.

Probabilities are smoothed by interpolated modified Kneser-Ney (Chen and Goodman, "An empirical study of
smoothing techniques for language modeling", 1999). N-grams that change the model least are pruned by relative
entropy (Stolcke, "Entropy-based pruning of backoff language models", 1998).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.model.front_end.alignment import align
from kokoro_tvm.runtime.text.frontend.joint_ngrams import COST_STEPS, pack_ngrams

Numbers = NDArray[Any]

_SHORTEST_WORD, _LONGEST_WORD, _MOST_PHONEMES = 3, 16, 20
_ORDER = 6  # graphones of the longest n-gram
_PRUNING = 1e-6  # relative entropy of an n-gram that is worth keeping, in nats
_FLOOR = 1e-6  # of a probability, and of the rest that backing off shares
_EDGE = 0


@dataclass
class _Level:
    """N-grams of one length, sorted by parent and graphone.

    Attributes:
        parent: N-gram without the last graphone, in the level before.
        graphone: The last graphone.
        suffix: N-gram without the first graphone, in the level before.
        count: Occurrences.
        is_initial: Whether it begins a word, so that no longer n-gram ends with it.
        probability: Of the last graphone after the others.
        rest: Share of a shorter n-gram's probabilities for the graphones that are no child.
    """

    parent: Numbers
    graphone: Numbers
    suffix: Numbers
    count: Numbers
    is_initial: Numbers
    probability: Numbers = field(default_factory=lambda: np.empty(0))
    rest: Numbers = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.graphone)

    def by_parent(self, values: Numbers, parents: int) -> Numbers:
        """Sum values of the n-grams by parent."""
        return np.bincount(self.parent, weights=values, minlength=parents)


def training_words(entries: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the sorted (spelling, phonemes) of the entries that are neither very short nor very long."""
    return [
        (word, phonemes)
        for word, phonemes in sorted(entries.items())
        if _SHORTEST_WORD <= len(word) <= _LONGEST_WORD and len(phonemes) <= _MOST_PHONEMES
    ]


def train(words: Sequence[tuple[str, str]]) -> bytes:
    """Return the packed model of `runtime.text.frontend.joint_ngrams.JointNgrams`.

    The result depends on the words and their order alone.
    """
    pairs = [
        list(zip(spelling, parts, strict=True))
        for (spelling, _), parts in zip(words, align(words), strict=True)
        if parts
    ]
    graphones = sorted({pair for word in pairs for pair in word})
    numbers = {pair: number for number, pair in enumerate(graphones, start=1)}
    sequences = [[_EDGE, *map(numbers.__getitem__, word), _EDGE] for word in pairs]
    levels = _count(sequences, len(graphones) + 1)
    _smooth(levels)
    return pack_ngrams(graphones, _columns(levels, _prune(levels)))


def _count(sequences: Sequence[Sequence[int]], graphones: int) -> list[_Level]:
    """Count the n-grams of all lengths."""
    symbols = np.array([graphone for sequence in sequences for graphone in sequence], np.int64)
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    places = np.arange(len(symbols)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    every = np.arange(graphones)
    count = np.bincount(symbols[places > 0], minlength=graphones)
    levels = [_Level(np.zeros_like(every), every, np.zeros_like(every), count, every == _EDGE)]
    shorter = symbols  # number of the n-gram that ends at each place
    for length in range(2, _ORDER + 1):
        ends = np.flatnonzero(places >= length - 1)
        keys = shorter[ends - 1] * graphones + symbols[ends]
        known, first, ngrams, count = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        suffix, is_initial = shorter[ends][first], places[ends][first] == length - 1
        levels.append(_Level(known // graphones, known % graphones, suffix, count, is_initial))
        shorter = np.zeros_like(symbols)
        shorter[ends] = ngrams
    return levels


def _smooth(levels: Sequence[_Level]) -> None:
    """Set the probabilities, interpolated with those of shorter n-grams."""
    for index, level in enumerate(levels):
        counts = level.count.astype(np.float64)
        if index + 1 < len(levels):  # by how many graphones come before it, not how often
            different = np.bincount(levels[index + 1].suffix, minlength=len(level))
            counts = np.where(level.is_initial, counts, different)
        if index == 0:
            level.probability = np.maximum(counts / counts.sum(), _FLOOR)
            continue
        shorter = levels[index - 1]
        discounts = _discounts(counts)[np.minimum(counts, 3).astype(np.int64)]
        totals = level.by_parent(counts, len(shorter))
        rest = level.by_parent(discounts, len(shorter)) / np.maximum(totals, 1)
        shorter.rest = rest
        own = (counts - discounts) / totals[level.parent]
        level.probability = own + rest[level.parent] * shorter.probability[level.suffix]


def _discounts(counts: Numbers) -> Numbers:
    """Return what is taken from counts of 0, 1, 2, and 3 or more."""
    one, two, three, four = (max(1, int(np.count_nonzero(counts == times))) for times in (1, 2, 3, 4))
    share = one / (one + 2 * two)
    discounts = [0, 1 - 2 * share * two / one, 2 - 3 * share * three / two, 3 - 4 * share * four / three]
    return np.clip(discounts, [0, 0.1, 0.1, 0.1], [0, 0.9, 1.8, 2.7])


def _prune(levels: Sequence[_Level]) -> list[Numbers]:
    """Return which n-grams of each level are kept, and set the rests anew."""
    total = levels[0].count.sum()
    kept = [np.ones(len(level), bool) for level in levels]
    for index in range(len(levels) - 1, 0, -1):
        level, shorter = levels[index], levels[index - 1]
        backed_off = shorter.rest[level.parent] * shorter.probability[level.suffix]
        change = level.count / total * np.abs(np.log(level.probability / backed_off))
        is_parent = np.zeros(len(level), bool)
        if index + 1 < len(levels):
            is_parent[levels[index + 1].parent[kept[index + 1]]] = True
        kept[index] = (change > _PRUNING) | is_parent
    for level, keep, shorter in zip(levels[1:], kept[1:], levels[:-1], strict=True):
        own = level.by_parent(level.probability * keep, len(shorter))
        lower = level.by_parent(shorter.probability[level.suffix] * keep, len(shorter))
        shorter.rest = np.maximum(1 - own, _FLOOR) / np.maximum(1 - lower, _FLOOR)
    return kept


def _columns(levels: Sequence[_Level], kept: Sequence[Numbers]) -> list[Numbers]:
    """Return the columns of the tree, level by level below the root."""
    children = [np.array([kept[0].sum()])]
    rests = [np.ones(1)]
    for level, keep, longer, keep_longer in zip(levels, kept, levels[1:], kept[1:], strict=False):
        count = np.bincount(longer.parent[keep_longer], minlength=len(level))[keep]
        children.append(count)
        rests.append(np.where(count > 0, level.rest[keep], 1))
    children.append(np.zeros(int(kept[-1].sum()), np.int64))
    rests.append(np.ones(len(children[-1])))
    graphones = [level.graphone[keep] for level, keep in zip(levels, kept, strict=True)]
    probabilities = [level.probability[keep] for level, keep in zip(levels, kept, strict=True)]
    root = np.zeros(1, np.int64)
    return [
        np.concatenate(children),
        np.concatenate([root, *graphones]),
        np.concatenate([root, _cost(np.concatenate(probabilities))]),
        _cost(np.concatenate(rests)),
    ]


def _cost(probabilities: Numbers) -> Numbers:
    """Return the costs of probabilities, from 0 to 255."""
    return np.clip(np.rint(-np.log2(probabilities) * COST_STEPS), 0, 255).astype(np.int64)
