"""Convolutional network over the letters of a word: the costs of each letter's graphones, from all letters.

The joint n-gram model sees how the letters before were read, the network sees the letters of the whole word.
It computes with whole numbers, so that Python and C (native/libkokoro/text/letter_network.c) agree.

The state of a letter is a vector of channels: first the sum of embeddings of the letters around it. Each
layer adds to it what it computes from the states of three letters. The tensors of the file:

* `network.embedding`, int8 (5, 27, channels), by distance and letter, of which 0 is none;
* `network.weights`, int8 (layers, 3, channels, channels);
* `network.biases`, int32 (layers + 1, channels), first of the embedding;
* `network.layers`, int32 (layers + 2, 2): the distance of the three letters, and bits to shift, first of the
  embedding (to the left), last of the scores (to the right, like those of the layers);
* `network.ENGLISH.weights`, int8 (scores, channels), and `network.ENGLISH.biases`, int32 (scores);
* `network.ENGLISH.scores`, int32 (graphones): the number of a graphone's score, or -1 if it is rare.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHARED = ("embedding", "weights", "biases", "layers")
"""Names of the tensors that American and British English share."""
MAX_COST = 160
"""Of a graphone over the best one of its letter, in the units of the joint n-gram model."""
MAX_STATE = (1 << 14) - 1
_AROUND = 2  # letters before and after in the embedding


class LetterNetwork:
    """Costs of graphones. Thread-safe. Products are of floats that are whole and below 2**53: exact."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], english: str) -> None:
        """Take the tensors of the front end's file for American ("us") or British ("gb") English."""
        self._embedding, self._weights, self._biases, self._layers = (
            tensors[f"network.{name}"] for name in SHARED
        )
        self._score_weights = tensors[f"network.{english}.weights"]
        self._score_biases = tensors[f"network.{english}.biases"]
        self._scores = tensors[f"network.{english}.scores"]

    def read(self, letters: str) -> NDArray[np.float64]:
        """Return the states of letters, (letters, channels)."""
        codes = np.array([ord(letter) - 96 if "a" <= letter <= "z" else 0 for letter in letters], np.int64)
        count, padded = len(letters), np.pad(codes, _AROUND)
        embedded = [self._embedding[place, padded[place : place + count]] for place in range(2 * _AROUND + 1)]
        state = np.sum(embedded, axis=0, dtype=np.float64) * 2.0 ** self._layers[0, 1] + self._biases[0]
        state = np.clip(state, 0, MAX_STATE)
        for weights, bias, (distance, shift) in zip(
            self._layer_weights, self._biases[1:], self._layers[1:].tolist(), strict=False
        ):
            around = np.pad(state, ((distance, distance), (0, 0)))
            three = np.hstack([around[place * distance :][:count] for place in range(3)])
            change = np.floor((three @ weights + bias) / 2.0**shift)
            state = np.minimum(state + np.maximum(change, 0), MAX_STATE)
        return state

    def costs(self, state: NDArray[np.float64], start: int, end: int) -> list[int]:
        """Return the costs of the graphones from `start` to `end` for a letter with a state."""
        numbers = self._scores[start:end]
        frequent = numbers >= 0
        scores = self._score_weights[numbers[frequent]] @ state + self._score_biases[numbers[frequent]]
        costs = np.full(end - start, float(MAX_COST))
        costs[frequent] = np.floor((scores.max(initial=-np.inf) - scores) / 2.0 ** self._layers[-1, 1])
        return np.minimum(costs, MAX_COST).astype(np.int64).tolist()

    @cached_property
    def _layer_weights(self) -> NDArray[np.float64]:
        layers, _, channels, _ = self._weights.shape
        return self._weights.reshape(layers, 3 * channels, channels).astype(np.float64)
