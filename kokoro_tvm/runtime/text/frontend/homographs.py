"""Words of two readings: a linear model a word chooses by what the tagger sees and by the words around it.

A reading's score is a sum over the tagger's states at the word and its two neighbours, and over names of what
stands near it (words and tags at two places on either side, words up to eight away, its spelling, its tag),
which share a thousand weights by their hash. (Gorman, Mazovetskiy and Nikolaev, "Improving homograph
disambiguation with supervised machine learning", LREC 2018, whose sentences
`docs/homographs.py` learns from; Weinberger et al., "Feature hashing for large scale
multitask learning", ICML 2009.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.runtime.text.frontend.hashing import hash_text

__all__ = ["HomographData", "Homographs", "names", "neighbor_states"]

Floats = NDArray[np.float32]

_NEAR, _FAR = 2, 8  # words on either side: by place, and in any order
_NOTHING = "<>"


@dataclass(frozen=True)
class HomographData:
    """What was learned.

    mean, deviation: of the states (3 * channels,); scales and biases (readings,); weights: uint8, 128 for
    zero (readings, 3 * channels + hashed names); words: a word in small letters -> the phonemes of its
    readings, whose rows are in this order.
    """

    mean: Floats
    deviation: Floats
    scales: Floats
    biases: Floats
    weights: NDArray[np.uint8]
    words: Mapping[str, Sequence[str]]


class Homographs:
    """Chooses readings by `data`. Threads may share it."""

    def __init__(self, data: HomographData) -> None:
        self._data = data
        self._rows: dict[str, slice] = {}
        end = 0
        for word, readings in data.words.items():
            self._rows[word] = slice(end, end := end + len(readings))

    def __call__(self, texts: Sequence[str], tags: Sequence[str], states: Floats) -> list[str | None]:
        """Phonemes of the pieces of a text that are words of two readings, None for all others.

        states: (pieces, channels), the tagger's.
        """
        lower = [text.lower() for text in texts]
        found = (place for place, word in enumerate(lower) if word in self._rows)
        read: list[str | None] = [None] * len(texts)
        for place in found:
            read[place] = self._choose(place, texts[place], lower, tags, states)
        return read

    def _choose(
        self, place: int, text: str, lower: Sequence[str], tags: Sequence[str], states: Floats
    ) -> str:
        data = self._data
        features = (neighbor_states(place, states) - data.mean) / data.deviation
        rows = self._rows[lower[place]]
        weights = data.weights[rows].astype(np.float32) - 128
        scores = weights[:, : features.size] @ features
        buckets = weights.shape[1] - features.size
        for name in names(place, text, lower, tags):
            scores += weights[:, features.size + hash_text(name) % buckets]
        best = int(np.argmax(scores * data.scales[rows] + data.biases[rows]))
        return data.words[lower[place]][best]


def neighbor_states(place: int, states: Floats) -> Floats:
    """States (3 * channels,) of a word and its two neighbours, zeros where there is none."""
    padded = np.zeros((3, states.shape[1]), np.float32)
    first, last = max(0, place - 1), min(len(states), place + 2)
    padded[first - place + 1 : last - place + 1] = states[first:last]
    return padded.reshape(-1)


def names(place: int, text: str, lower: Sequence[str], tags: Sequence[str]) -> Iterator[str]:
    """What stands at and around a word, as names."""
    tag = {step: _at(tags, place + step) for step in range(-_NEAR, _NEAR + 1)}
    for step in range(-_FAR, _FAR + 1):
        if step == 0:
            continue
        word = _at(lower, place + step)
        if word != _NOTHING:
            yield f"c:{word}"
        if step in tag:
            yield f"{step}:{word}"
            yield f"t{step}:{tag[step]}"
    yield f"w:{text}"
    yield f"t:{tag[0]}"
    yield f"t<:{tag[-1]} {tag[0]}"
    yield f"t>:{tag[0]} {tag[1]}"
    yield f"t<>:{tag[-1]} {tag[1]}"


def _at(words: Sequence[str], place: int) -> str:
    return words[place] if 0 <= place < len(words) else _NOTHING
