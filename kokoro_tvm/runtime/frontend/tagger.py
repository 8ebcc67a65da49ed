"""Parts of speech by spaCy's small English model, in numpy.

Six hashed embeddings of each word are mixed to 96 channels; four residual layers look at one neighbour on
either side; a linear layer gives a score for each tag. (Honnibal, "Embed, encode, attend, predict", 2016;
Serrà and Karatzoglou, "Getting deep recommenders fit: Bloom embeddings", 2017.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.runtime.frontend.hashing import hash_rows, hash_text
from kokoro_tvm.runtime.frontend.tokenizer import Piece

__all__ = ["Layer", "Tagger", "TaggerData", "id_of", "shape_of"]

Floats = NDArray[np.float32]

_FIRST_SEED = 8  # of the first embedding; each has the next
_LONG = 100  # characters, from which on a word has no shape
_EPSILON = 1e-8
_KNOWN_WORDS = 8192


@dataclass(frozen=True)
class Layer:
    """Maxout and layer normalisation: weight (outputs, pieces, inputs), bias (outputs, pieces), scale and
    shift (outputs,)."""

    weight: Floats
    bias: Floats
    scale: Floats
    shift: Floats

    def __call__(self, inputs: Floats) -> Floats:
        """(words, inputs) to (words, outputs)."""
        outputs, pieces, width = self.weight.shape
        mixed = inputs @ self.weight.reshape(-1, width).T
        best = (mixed.reshape(-1, outputs, pieces) + self.bias).max(axis=2)
        centred = best - best.mean(axis=1, keepdims=True)
        deviation = np.sqrt(best.var(axis=1, keepdims=True) + _EPSILON)
        return centred / deviation * self.scale + self.shift


@dataclass(frozen=True)
class TaggerData:
    """What the model learned.

    embeddings: tables (rows, channels) of norm, first letter, last three, shape, following space, being
    space; mix: the layer over them; layers: those over a word and its neighbours; weight (tags, channels) and
    bias (tags,) of the scores; labels: the tags; norms: id of a word -> what is read in its place; symbols:
    words with an id of their own.
    """

    embeddings: tuple[Floats, ...]
    mix: Layer
    layers: tuple[Layer, ...]
    weight: Floats
    bias: Floats
    labels: tuple[str, ...]
    norms: dict[int, str]
    symbols: dict[str, int]


class Tagger:
    """A tagger of `data`. Threads may share it."""

    def __init__(self, data: TaggerData) -> None:
        self._data = data
        self._features = lru_cache(_KNOWN_WORDS)(self._word_features)

    def __call__(self, pieces: Sequence[Piece]) -> list[str]:
        """The tag of every piece of one text (Penn Treebank, as OntoNotes uses it)."""
        if not pieces:
            return []
        data = self._data
        ids = np.array(
            [(*self._features(p.text, p.norm), int(p.space), int(p.text.isspace())) for p in pieces],
            dtype=np.uint64,
        )
        embedded = [
            table[hash_rows(ids[:, column], _FIRST_SEED + column) % np.uint64(len(table))].sum(axis=1)
            for column, table in enumerate(data.embeddings)
        ]
        state = data.mix(np.concatenate(embedded, axis=1))
        # A text is padded with one zero for every layer, which the layers fill as if they were words.
        padding = ((len(data.layers), len(data.layers)), (0, 0))
        state = np.pad(state, padding)
        for layer in data.layers:
            edge = np.zeros_like(state[:1])
            before, behind = np.concatenate([edge, state[:-1]]), np.concatenate([state[1:], edge])
            state = state + layer(np.concatenate([before, state, behind], axis=1))
        scores = state[padding[0][0] : -padding[0][1]] @ data.weight.T + data.bias
        return [data.labels[index] for index in scores.argmax(axis=1)]

    def _word_features(self, text: str, norm: str) -> tuple[int, int, int, int]:
        symbols = self._data.symbols
        read = norm or self._data.norms.get(id_of(text, symbols)) or text.lower()
        return (
            id_of(read, symbols),
            id_of(text[0], symbols),
            id_of(text[-3:], symbols),
            id_of(shape_of(text), symbols),
        )


def id_of(text: str, symbols: Mapping[str, int]) -> int:
    """What a text is known by: its id among `symbols`, else its hash."""
    known = symbols.get(text)
    return hash_text(text) if known is None else known


def shape_of(text: str) -> str:
    """The shape of a word: X for capitals, x for other letters, d for digits, runs cut at four."""
    if len(text) >= _LONG:
        return "LONG"
    shape: list[str] = []
    run = 0
    for char in text:
        kind = ("X" if char.isupper() else "x") if char.isalpha() else "d" if char.isdigit() else char
        run = run + 1 if shape and shape[-1] == kind else 1
        if run <= 4:
            shape.append(kind)
    return "".join(shape)
