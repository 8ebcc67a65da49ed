"""Expressions of the front end's data, compiled for libkokoro: of the tokenizer and of written forms."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.native.libkokoro.patterns import Sets, compile_pattern
from kokoro_tvm.runtime.text.frontend.normalization.language import expand_macros

__all__ = ["language_arrays", "tokenizer_arrays"]

_TOKENIZER = ("prefix", "suffix", "infix", "url")
_OF_RULE = ("pattern", "after", "not_after")


def tokenizer_arrays(rules: Mapping[str, Any]) -> dict[str, NDArray[np.int32]]:
    """The code of each expression of a tokenizer, and the classes that they share."""
    sets = Sets()
    codes = {f"tokenizer.{name}": _array(compile_pattern(rules[name], sets).code) for name in _TOKENIZER}
    return codes | {"tokenizer.sets": _array(sets.words)}


def language_arrays(name: str, data: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Expressions of a language's written forms: `code` has, packed, their code one after the other, the
    classes that they share, and places in the code: of its letters, of the numbers that count one, and of the
    expression of each rule, of what stands before it and of what does not (-1 where it has none). sizes: of
    the three. groups: a line for each rule, the names of its groups by their numbers. data: what
    `text_rules.compiled` gives.
    """
    sets, groups = Sets(), []
    code: list[int] = []
    places: list[int] = []
    known: dict[str, int] = {"": -1}
    expressions = [f"[{data['letters']}]+", data["numbers"]["singular"]]
    expressions += [rule.get(part, "") for rule in data["rules"] for part in _OF_RULE]
    for expression in expressions:
        if expression not in known:
            known[expression] = len(code)
            code += compile_pattern(expand_macros(expression, data["lists"], data["types"]), sets).code
        places.append(known[expression])
    for rule in data["rules"]:
        names = re.compile(expand_macros(rule["pattern"], data["lists"], data["types"])).groupindex
        assert sorted(names.values()) == list(range(1, len(names) + 1)), rule  # every group has a name
        groups.append(" ".join(sorted(names, key=names.__getitem__)))
    return {
        f"text.{name}.code": _bytes(zlib.compress(_array([*code, *sets.words, *places]).tobytes(), 9)),
        f"text.{name}.sizes": _array([len(code), len(sets.words), len(places)]),
        f"text.{name}.groups": _bytes("\n".join(groups).encode()),
    }


def _bytes(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


def _array(words: Any) -> NDArray[np.int32]:
    return np.array(words, "<i4")
