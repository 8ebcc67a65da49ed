"""Plans as JSON: what `Plan.to_json` writes, and reading it with the place of every mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.speech.piece import Piece, Word

__all__ = ["SCHEMA", "read_plan", "written_plan"]

SCHEMA = 1
"""The layout of a plan's JSON."""

T = TypeVar("T")
_PARTS = frozenset({"pieces", "words"})  # fields that are objects of their own
_TYPES: Mapping[str, tuple[Any, str]] = {
    "str": (str, "a string"),
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "bool": (bool, "true or false"),
    "tuple": (list, "a list"),
}
"""By the first word of a field's annotation: what JSON has of it, and how a message calls that."""


def written_plan(plan: object, pieces: Iterable[Piece]) -> str:
    """A plan of these pieces as JSON."""
    nodes = [_node(piece) | {"words": [_node(word) for word in piece.words]} for piece in pieces]
    node = {"schema": SCHEMA} | _node(plan) | {"pieces": nodes}
    return json.dumps(node, indent=1, ensure_ascii=False) + "\n"


def read_plan(text: str, plan: Callable[..., T]) -> T:
    """The `plan`, a dataclass, that a JSON text holds; raises InputError with the place of what is wrong."""
    try:
        node = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"The plan is not JSON ({error}).") from error
    values = _values(node, "the plan", plan, {"schema", "pieces"})
    if node.get("schema") != SCHEMA:
        raise InputError(
            f"The plan has schema {node.get('schema')!r}; this version of kokoro-tvm reads {SCHEMA}. "
            "Plan the text again."
        )
    pieces = [_piece(piece, f"pieces[{i}]") for i, piece in enumerate(_list(node, "pieces", "the plan"))]
    return _made("the plan", lambda: plan(pieces=tuple(pieces), **values))


def _piece(node: Any, place: str) -> Piece:
    values = _values(node, place, Piece, {"words"})
    words = [_word(word, f"{place}.words[{i}]") for i, word in enumerate(_list(node, "words", place))]
    return _made(place, lambda: Piece(words=tuple(words), **values))


def _word(node: Any, place: str) -> Word:
    values = _values(node, place, Word, set())
    return _made(place, lambda: Word(**values))


def _fields(kind: Any) -> dict[str, Field[Any]]:
    return {field.name: field for field in fields(kind) if field.name not in _PARTS}


def _node(thing: Any) -> dict[str, Any]:
    values = {name: getattr(thing, name) for name in _fields(thing)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _values(node: Any, place: str, kind: Any, others: set[str]) -> dict[str, Any]:
    """The fields of a JSON object as arguments of `kind`, lists as tuples; null is for what may be None."""
    if not isinstance(node, dict):
        raise InputError(f"In the plan, {place} should be a JSON object, but is {truncate(repr(node))}.")
    known = _fields(kind)
    for name in node:
        if name not in known and name not in others:
            raise InputError(f"In the plan, {place} has the unknown field {truncate(repr(name))}.")
    missing = sorted(name for name, field in known.items() if field.default is MISSING and name not in node)
    if missing:
        raise InputError(f"In the plan, {place} lacks {', '.join(map(repr, missing))}.")
    found = {}
    for name, field in known.items():
        if name not in node or (node[name] is None and field.default is None):
            continue
        value = node[name]
        typed, called = _TYPES[re.split(r"\W", str(field.type))[0]]
        if not isinstance(value, typed) or (isinstance(value, bool) and typed is not bool):
            shown = truncate(repr(value))
            raise InputError(f"In the plan, '{name}' of {place} should be {called}, but is {shown}.")
        found[name] = tuple(value) if typed is list else value
    return found


def _list(node: dict[str, Any], name: str, place: str) -> list[Any]:
    value = node.get(name)
    if not isinstance(value, list):
        shown = truncate(repr(value))
        raise InputError(f"In the plan, '{name}' of {place} should be a list, but is {shown}.")
    return value


def _made(place: str, make: Callable[[], T]) -> T:
    try:
        return make()
    except InputError as error:
        raise InputError(f"In the plan, {place}: {error}") from error
