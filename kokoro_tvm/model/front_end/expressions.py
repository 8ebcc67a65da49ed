"""Expressions of the front end's data, compiled for libkokoro: those of the tokenizer and of written forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.libkokoro.patterns import Sets, compile_pattern
from kokoro_tvm.runtime.text.frontend.normalization.language import pattern_of

__all__ = ["language_arrays", "tokenizer_arrays"]

_TOKENIZER = ("prefix", "suffix", "infix", "url")
_OF_RULE = ("pattern", "after", "not_after")


def tokenizer_arrays(rules: Mapping[str, Any]) -> dict[str, NDArray[np.int32]]:
    """The code of each expression of a tokenizer, and the classes that they share."""
    sets = Sets()
    codes = {f"tokenizer.{name}": _array(compile_pattern(rules[name], sets).code) for name in _TOKENIZER}
    return codes | {"tokenizer.sets": _array(sets.words)}


def language_arrays(name: str, data: Mapping[str, Any]) -> dict[str, NDArray[np.int32]]:
    """The code of the expressions of a language's written forms one after the other, the classes that they
    share, and places in the code: of its letters, of the numbers that count one, and of the expression of each
    rule, of what stands before it and of what does not (-1 where it has none); data: what
    `text_rules.compiled` gives.

    Groups of a rule have the numbers of their order, as `types` of the rule has them.
    """
    sets, code, places = Sets(), [], []
    known: dict[str, int] = {"": -1}
    expressions = [f"[{data['letters']}]+", data["numbers"]["singular"]]
    expressions += [rule.get(part, "") for rule in data["rules"] for part in _OF_RULE]
    for expression in expressions:
        if expression not in known:
            known[expression] = len(code)
            code += compile_pattern(pattern_of(expression, data["lists"], data["types"]), sets).code
        places.append(known[expression])
    parts = {"code": code, "sets": sets.words, "places": places}
    return {f"text.{name}.{part}": _array(words) for part, words in parts.items()}


def _array(words: Any) -> NDArray[np.int32]:
    return np.array(words, np.int32)
