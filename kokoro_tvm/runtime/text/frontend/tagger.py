"""Part-of-speech tagger: spaCy's small English model in numpy.

Six hashed embeddings of each word are mixed to 96 channels; four residual layers see one neighbour on either
side; a linear layer scores the tags. (Honnibal, "Embed, encode, attend, predict", 2016; Serrà and
Karatzoglou, "Getting deep recommenders fit: Bloom embeddings", 2017.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.runtime.text.frontend.dictionary import Dictionary
from kokoro_tvm.runtime.text.frontend.hashing import hash_rows, string_id
from kokoro_tvm.runtime.text.frontend.tokenizer import RawToken

Floats = NDArray[np.float32]

_FIRST_SEED = 8  # of the first table; each has the next
_LONG = 100  # characters; a longer word has the shape LONG
_EPSILON = 1e-8
_CACHED_WORDS = 2048
_ONE_THREAD = (
    1 << 18
)  # multiplications: numpy's OpenBLAS divides larger products among threads (interface/gemm.c)
_ROWS = 32


@dataclass(frozen=True)
class MaxoutLayer:
    """Maxout and layer normalization.

    Attributes:
        weight: (pieces, outputs, inputs).
        bias: (pieces, outputs).
        scale, shift: (outputs,).
    """

    weight: Floats
    bias: Floats
    scale: Floats
    shift: Floats

    def __call__(self, inputs: Floats) -> Floats:
        """Map (words, inputs) to (words, outputs)."""
        pieces, outputs, width = self.weight.shape
        mixed = _product(inputs, self.weight.reshape(-1, width).T).reshape(-1, pieces, outputs) + self.bias
        best = mixed.max(axis=1)
        best -= best.mean(axis=1, keepdims=True)
        variance = np.square(best).mean(axis=1, keepdims=True)
        return best * (self.scale / np.sqrt(variance + _EPSILON)) + self.shift


@dataclass(frozen=True)
class TaggerData:
    """Weights and tables of the tagger.

    Attributes:
        embeddings: Rows of six tables (rows, channels), concatenated: norm, first letter, last three letters,
            shape, following space, being space.
        rows: Number of rows of each table.
        mix: Layer over the embeddings.
        layers: Layers over a word and its neighbours.
        weight, bias: Of the scores, (tags, channels) and (tags,).
        labels: The tags.
        norms: Id of a word, as 16 hexadecimal digits, to the text that is read in its place.
        symbols: Words with an id of their own.
    """

    embeddings: Floats
    rows: tuple[int, ...]
    mix: MaxoutLayer
    layers: tuple[MaxoutLayer, ...]
    weight: Floats
    bias: Floats
    labels: tuple[str, ...]
    norms: Dictionary
    symbols: dict[str, int]


class Tagger:
    """Part-of-speech tagger. Thread-safe."""

    def __init__(self, data: TaggerData) -> None:
        self._data = data
        self._starts = tuple(sum(data.rows[:table]) for table in range(len(data.rows)))
        self._word = lru_cache(_CACHED_WORDS)(self._rows_of_word)
        self._flags = {flag: np.array([self._rows(4, flag[0]), self._rows(5, flag[1])]) for flag in _FLAGS}

    def __call__(self, pieces: Sequence[RawToken]) -> tuple[list[str], Floats]:
        """Return the tag of every word of a text (Penn Treebank, as in OntoNotes), and the last states.

        The states (words, channels) are the input of the scores.
        """
        data = self._data
        if not pieces:
            return [], np.empty((0, data.weight.shape[1]), np.float32)
        rows = np.empty((len(pieces), len(data.rows), 4), np.uint16)
        for index, piece in enumerate(pieces):
            rows[index, :4] = self._word(piece.text, piece.norm)
            rows[index, 4:] = self._flags[piece.space, piece.text.isspace()]
        vectors = data.embeddings[rows]
        embedded = vectors[:, :, 0] + vectors[:, :, 1] + vectors[:, :, 2] + vectors[:, :, 3]
        state = data.mix(embedded.reshape(len(pieces), -1))
        # A text is padded with one zero for every layer, which the layers fill as if they were words.
        edge = len(data.layers)
        padded = np.zeros((len(pieces) + 2 * edge, state.shape[1]), np.float32)
        padded[edge:-edge] = state
        for layer in data.layers:
            window = np.zeros((len(padded), 3, padded.shape[1]), np.float32)
            window[1:, 0], window[:, 1], window[:-1, 2] = padded[:-1], padded, padded[1:]
            padded += layer(window.reshape(len(padded), -1))
        states = padded[edge:-edge]
        scores = _product(states, data.weight.T) + data.bias
        return [data.labels[index] for index in scores.argmax(axis=1)], states

    def _rows_of_word(self, text: str, norm: str) -> NDArray[np.uint16]:
        """Return the rows (4, 4) of the four tables that read a word's spelling."""
        symbols = self._data.symbols
        read = norm or self._data.norms.get(f"{string_id(text, symbols):016x}") or text.lower()
        features = (str(read), text[0], text[-3:], word_shape(text))
        return np.array(
            [self._rows(table, string_id(f, symbols)) for table, f in enumerate(features)], np.uint16
        )

    def _rows(self, table: int, key: int) -> tuple[int, ...]:
        """Return the four embedding rows of a feature's id in its table."""
        return tuple(
            self._starts[table] + place % self._data.rows[table]
            for place in hash_rows(key, _FIRST_SEED + table)
        )


def _product(left: Floats, right: Floats) -> Floats:
    """Multiply matrices in blocks that are too small for threads of OpenBLAS."""
    # Threads of OpenBLAS spin: beside two busy processes a sentence took 52 to 80 ms of CPU time with two of
    # them, and takes 1.3 ms without. Other code of the process keeps its threads.
    height, depth = left.shape
    out = np.empty((height, right.shape[1]), np.float32)
    columns = max(1, _ONE_THREAD // (_ROWS * depth))
    for row in range(0, height, _ROWS):
        rows = slice(row, row + _ROWS)
        for column in range(0, right.shape[1], columns):
            block = slice(column, column + columns)
            np.matmul(left[rows], right[:, block], out=out[rows, block])
    return out


_FLAGS = tuple((space, is_space) for space in (False, True) for is_space in (False, True))


def word_shape(text: str) -> str:
    """Return the shape of a word: X for capitals, x for other letters, d for digits, runs cut at four."""
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
