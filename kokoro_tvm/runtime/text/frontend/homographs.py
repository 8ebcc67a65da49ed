"""Homographs: choose the pronunciation of a word from the tagger's states and the words around it.

The score of a pronunciation is linear in the states at the word and its two neighbours, and in names of
features (words and tags at two places on either side, words up to eight away, spelling, tag), which share a
thousand weights by hash. (Gorman, Mazovetskiy and Nikolaev, "Improving homograph disambiguation with
supervised machine learning", LREC 2018, on whose sentences `docs/homographs.py` trains; Weinberger et al.,
"Feature hashing for large scale multitask learning", ICML 2009.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.runtime.text.frontend.hashing import hash_text

Floats = NDArray[np.float32]

_NEAR, _FAR = 2, 8  # words on either side: by place, and as a bag
_NOTHING = "<>"


@dataclass(frozen=True)
class HomographData:
    """Weights of the homograph model.

    Attributes:
        mean, deviation: Of the states, (3 * channels,).
        scales, biases: (readings,).
        weights: uint8, zero at 128, (readings, 3 * channels + hashed features).
        words: Word in lower case to the row of its first reading and the phonemes of its readings, in the
            order of the rows. Forms of a word (tear, tears) have the same rows.
    """

    mean: Floats
    deviation: Floats
    scales: Floats
    biases: Floats
    weights: NDArray[np.uint8]
    words: Mapping[str, tuple[int, Sequence[str]]]


class Homographs:
    """Homograph model. Thread-safe."""

    def __init__(self, data: HomographData) -> None:
        self._data = data

    def __call__(self, texts: Sequence[str], tags: Sequence[str], states: Floats) -> list[str | None]:
        """Return the phonemes of every homograph, and None for other words.

        Args:
            texts: Words of a text.
            tags: Part of speech of each word.
            states: The tagger's states, (words, channels).
        """
        lower = [text.lower() for text in texts]
        places = (place for place, word in enumerate(lower) if word in self._data.words)
        phonemes: list[str | None] = [None] * len(texts)
        for place in places:
            phonemes[place] = self._choose(place, texts[place], lower, tags, states)
        return phonemes

    def _choose(
        self, place: int, text: str, lower: Sequence[str], tags: Sequence[str], states: Floats
    ) -> str:
        data = self._data
        features = (neighbor_states(place, states) - data.mean) / data.deviation
        first, readings = data.words[lower[place]]
        rows = slice(first, first + len(readings))
        weights = data.weights[rows].astype(np.float32) - 128
        scores = weights[:, : features.size] @ features
        buckets = weights.shape[1] - features.size
        for name in names(place, text, lower, tags):
            scores += weights[:, features.size + hash_text(name) % buckets]
        best = int(np.argmax(scores * data.scales[rows] + data.biases[rows]))
        return readings[best]


def neighbor_states(place: int, states: Floats) -> Floats:
    """Return the states (3 * channels,) of a word and its neighbours; zeros if there is none."""
    padded = np.zeros((3, states.shape[1]), np.float32)
    first, last = max(0, place - 1), min(len(states), place + 2)
    padded[first - place + 1 : last - place + 1] = states[first:last]
    return padded.reshape(-1)


def names(place: int, text: str, lower: Sequence[str], tags: Sequence[str]) -> Iterator[str]:
    """Yield the names of the features of a word and its context."""
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
