"""Joint n-gram model: the likeliest phonemes of letters, by pairs of a letter and its phonemes.

A graphone is such a pair. A word is read as its likeliest sequence of graphones, each of which depends on
those before it (Bisani and Ney, "Joint-sequence models for grapheme-to-phoneme conversion", 2008). Costs are
whole numbers, so that Python and C (native/libkokoro/text/joint_ngrams.c) choose alike. The format:

* 32-bit little-endian numbers: the number of nodes, and the bytes of the graphones;
* the graphones in UTF-8, each a letter and its phonemes, sorted, with a line feed between two. The first is
  empty: the edge of a word;
* a raw deflate stream with four columns over the nodes of a tree of n-grams, level by level: the number of
  children (16 bits), the last graphone (16 bits), its cost after the others in 1/8 bit, and the cost of
  forgetting the first graphone if the n-gram has no such child (8 bits each).

The children of a node are sorted by graphone. The root is node 0, and its first child is the edge.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.runtime.text.frontend.alphabet import PRIMARY, SECONDARY, restress
from kokoro_tvm.runtime.text.frontend.letter_network import LetterNetwork

COST_STEPS = 8
"""Units of cost in one bit."""
_MAX_MARGIN = 12 * COST_STEPS  # of a hypothesis over the best one
_HEADER = struct.Struct("<2I")
_SEPARATOR = "\n"

_Path: TypeAlias = "tuple[_Path, int] | None"  # graphones of a hypothesis, the last one first


class _Hypothesis(NamedTuple):
    """A reading of the first letters; `nodes`: its last graphones as n-grams, the longest first."""

    cost: int
    nodes: tuple[int, ...]
    is_stressed: bool
    path: _Path


class _Tree(NamedTuple):
    """Columns over the nodes; the children of `node` are `first[node]` to `first[node + 1]`."""

    first: memoryview
    graphones: memoryview
    costs: memoryview
    backoffs: memoryview


def pack_ngrams(graphones: Sequence[tuple[str, str]], columns: Sequence[NDArray[Any]]) -> bytes:
    """Pack a model into the format of this module.

    Args:
        graphones: Sorted letters and phonemes, numbered from 1.
        columns: Children, graphones, costs and backoffs of the nodes.
    """
    text = _SEPARATOR.join(["", *map("".join, graphones)]).encode()
    stream = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    types = ("<u2", "<u2", "u1", "u1")
    plain = b"".join(column.astype(kind).tobytes() for column, kind in zip(columns, types, strict=True))
    return (
        _HEADER.pack(len(columns[0]), len(text)) + text + stream.compress(plain) + stream.flush(zlib.Z_FINISH)
    )


class JointNgrams:
    """Letters to phonemes. Thread-safe. The tree is unpacked on first use."""

    def __init__(self, packed: bytes, network: LetterNetwork | None = None, max_hypotheses: int = 32) -> None:
        """Open packed bytes.

        Args:
            packed: Result of `pack_ngrams`.
            network: Adds its costs.
            max_hypotheses: Readings of the first letters that compete.

        Raises:
            ValueError: `pack_ngrams` did not write them.
        """
        try:
            self._nodes, size = _HEADER.unpack_from(packed)
        except struct.error as error:
            raise ValueError(f"no joint n-gram model: {error}") from error
        self.graphones = packed[_HEADER.size : _HEADER.size + size].decode().split(_SEPARATOR)
        self._stream = packed[_HEADER.size + size :]
        self._network = network
        self._max_hypotheses = max_hypotheses
        self._phonemes = [graphone[1:] for graphone in self.graphones]
        self._stressed = [PRIMARY in phonemes for phonemes in self._phonemes]
        self._letters = [graphone[:1] for graphone in self.graphones]

    def read(self, letters: str) -> str | None:
        """Return the phonemes of letters, one of them with primary stress; None if a letter is unknown."""
        hypotheses = [_Hypothesis(0, (1, 0), False, None)]
        states = None if self._network is None else self._network.read(letters)
        for place, letter in enumerate((*letters, "")):
            start = bisect_left(self._letters, letter)
            end = bisect_left(self._letters, letter + "\0")
            more = [0] * (end - start)
            if letter and self._network is not None and states is not None:
                more = self._network.costs(states[place], start, end)
            hypotheses = self._extend(hypotheses, start, more)
        best = next((each for each in hypotheses if each.is_stressed), hypotheses[0] if hypotheses else None)
        if best is None:
            return None
        parts = []
        path = best.path
        while path is not None:
            path, graphone = path
            parts.append(self._phonemes[graphone])
        phonemes = "".join(reversed(parts))
        if PRIMARY in phonemes:
            return phonemes
        return restress(phonemes, 1 if SECONDARY in phonemes else 2) or None

    def _extend(
        self, hypotheses: Sequence[_Hypothesis], start: int, more: Sequence[int]
    ) -> list[_Hypothesis]:
        """Return the best hypotheses with one more graphone, the best first.

        Args:
            hypotheses: Readings of the letters before.
            start: The first graphone of the letter.
            more: Costs of the letter's graphones besides those of the n-grams.
        """
        first, graphones, costs, backoffs = self._tree
        end = start + len(more)
        limit = 1 << 62
        candidates: list[tuple[int, int, int]] = []  # cost, hypothesis, graphone
        for index, (cost, nodes, is_stressed, _) in enumerate(hypotheses):
            seen = set()
            for node in nodes:
                if cost > limit:
                    break
                stop = first[node + 1]
                for place in range(bisect_left(graphones, start, first[node], stop), stop):
                    graphone = graphones[place]
                    if graphone >= end:
                        break
                    if graphone in seen:
                        continue
                    seen.add(graphone)
                    if not (is_stressed and self._stressed[graphone]):
                        total = cost + costs[place] + more[graphone - start]
                        candidates.append((total, index, graphone))
                        limit = min(limit, total + _MAX_MARGIN)
                cost += backoffs[node]
        result: dict[tuple[int, bool], _Hypothesis] = {}
        for cost, index, graphone in sorted(candidates):
            if cost > limit or len(result) == self._max_hypotheses:
                break
            before = hypotheses[index]
            nodes = (*self._children(before.nodes, graphone), 0)
            is_stressed = before.is_stressed or self._stressed[graphone]
            if (nodes[0], is_stressed) not in result:
                result[nodes[0], is_stressed] = _Hypothesis(cost, nodes, is_stressed, (before.path, graphone))
        return list(result.values())

    def _children(self, nodes: Sequence[int], graphone: int) -> list[int]:
        """Return the children of nodes for a graphone, without leaves."""
        first, graphones, _, _ = self._tree
        children = []
        for node in nodes:
            place = bisect_left(graphones, graphone, first[node], first[node + 1])
            is_child = place < first[node + 1] and graphones[place] == graphone
            if is_child and first[place] < first[place + 1]:
                children.append(place)
        return children

    @cached_property
    def _tree(self) -> _Tree:
        plain = zlib.decompress(self._stream, -zlib.MAX_WBITS)
        count = self._nodes
        children = np.frombuffer(plain, "<u2", count)
        first = np.cumsum(np.concatenate([[1], children]), dtype=np.uint32)
        if first[-1] != count or len(plain) != 6 * count:
            raise ValueError("no joint n-gram model: its tree is damaged")
        graphones = np.frombuffer(plain, "<u2", count, 2 * count)
        costs, backoffs = np.frombuffer(plain, "u1", 2 * count, 4 * count).reshape(2, count)
        columns = (first, graphones, costs, backoffs)
        return _Tree(*(column.data for column in columns))  # quicker than arrays, number by number
