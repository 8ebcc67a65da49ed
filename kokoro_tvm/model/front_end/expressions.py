"""Compile the regular expressions of tokenizer and written forms for libkokoro."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.native.libkokoro.patterns import Sets, compile_pattern
from kokoro_tvm.runtime.text.frontend.normalization.language import expand_macros

_TOKENIZER = ("prefix", "suffix", "infix", "url")
_OF_RULE = ("pattern", "after", "not_after")
_OF_DOUBT = ("after", "before", "near", "unless")


def tokenizer_arrays(rules: Mapping[str, Any]) -> dict[str, NDArray[np.int32]]:
    """Return the code of each tokenizer expression, and the character classes that they share."""
    sets = Sets()
    codes = {f"tokenizer.{name}": _array(compile_pattern(rules[name], sets).code) for name in _TOKENIZER}
    return codes | {"tokenizer.sets": _array(sets.words)}


def language_arrays(name: str, data: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the compiled expressions of a language's written forms.

    `code` is compressed: the code of all expressions, their character classes, and offsets in the code. The
    offsets are of the letters, of the numbers that count one, of each rule's pattern, `after` and
    `not_after`, and of each doubt's `after`, `before`, `near` and `unless` (-1 for
    none).
    `sizes` has the sizes of the three. `groups` has a line of group names for each rule.

    Args:
        name: The language.
        data: As `text_rules.compile_language` returns it.
    """
    sets, groups = Sets(), []
    code: list[int] = []
    places: list[int] = []
    offsets: dict[str, int] = {"": -1}
    expressions = [f"[{data['letters']}]+", data["numbers"]["singular"]]
    expressions += [rule.get(part, "") for rule in data["rules"] for part in _OF_RULE]
    expressions += [doubt[part] for doubt in data["doubts"] for part in _OF_DOUBT]
    for expression in expressions:
        if expression not in offsets:
            offsets[expression] = len(code)
            code += compile_pattern(expand_macros(expression, data["lists"], data["types"]), sets).code
        places.append(offsets[expression])
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
    """View bytes as uint8 (n,)."""
    return np.frombuffer(data, np.uint8)


def _array(words: Any) -> NDArray[np.int32]:
    return np.array(words, "<i4")
