"""Plans as JSON; reading errors name the place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.speech.piece import Piece, Word

__all__ = ["SCHEMA", "plan_to_json", "read_plan"]

SCHEMA = 1
"""The version of the layout of a plan's JSON."""

T = TypeVar("T")
_PARTS = frozenset({"pieces", "words", "before", "after"})  # fields that are objects of their own
_WORDS = ("words", "before", "after")  # lists of words of a piece
_TYPES: Mapping[str, tuple[Any, str]] = {
    "str": (str, "a string"),
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "bool": (bool, "true or false"),
    "tuple": (list, "a list"),
}
"""First word of a field's annotation -> (type in JSON, its name in messages)."""


def plan_to_json(plan: object, pieces: Iterable[Piece]) -> str:
    """Return a plan with these pieces as JSON."""
    nodes = [_node(piece) | {n: list(map(_node, getattr(piece, n))) for n in _WORDS} for piece in pieces]
    node = {"schema": SCHEMA} | _node(plan) | {"pieces": nodes}
    return json.dumps(node, indent=1, ensure_ascii=False) + "\n"


def read_plan(text: str, plan: Callable[..., T]) -> T:
    """Parse JSON into the dataclass `plan`; raises InputError with the place of a mistake."""
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
    return _build("the plan", lambda: plan(pieces=tuple(pieces), **values))


def _piece(node: Any, place: str) -> Piece:
    values = _values(node, place, Piece, set(_WORDS))
    words = _words(node, "words", place)
    # Plans of earlier versions have no context.
    before, after = (_words(node, name, place) if name in node else () for name in ("before", "after"))
    return _build(place, lambda: Piece(words=words, before=before, after=after, **values))


def _words(node: Any, name: str, place: str) -> tuple[Word, ...]:
    return tuple(_word(word, f"{place}.{name}[{i}]") for i, word in enumerate(_list(node, name, place)))


def _word(node: Any, place: str) -> Word:
    values = _values(node, place, Word, set())
    return _build(place, lambda: Word(**values))


def _fields(kind: Any) -> dict[str, Field[Any]]:
    return {field.name: field for field in fields(kind) if field.name not in _PARTS}


def _node(record: Any) -> dict[str, Any]:
    values = {name: getattr(record, name) for name in _fields(record)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _values(node: Any, place: str, kind: Any, others: set[str]) -> dict[str, Any]:
    """Return the fields of a JSON object as arguments of `kind`, with lists as tuples."""
    if not isinstance(node, dict):
        raise InputError(f"In the plan, {place} should be a JSON object, but is {truncate(repr(node))}.")
    known = _fields(kind)
    for name in node:
        if name not in known and name not in others:
            raise InputError(f"In the plan, {place} has the unknown field {truncate(repr(name))}.")
    missing = sorted(name for name, field in known.items() if field.default is MISSING and name not in node)
    if missing:
        raise InputError(f"In the plan, {place} lacks {', '.join(map(repr, missing))}.")
    values = {}
    for name, field in known.items():
        if name not in node or (node[name] is None and field.default is None):
            continue
        value = node[name]
        json_type, type_name = _TYPES[re.split(r"\W", str(field.type))[0]]
        if not isinstance(value, json_type) or (isinstance(value, bool) and json_type is not bool):
            shown = truncate(repr(value))
            raise InputError(f"In the plan, '{name}' of {place} should be {type_name}, but is {shown}.")
        values[name] = tuple(value) if json_type is list else value
    return values


def _list(node: dict[str, Any], name: str, place: str) -> list[Any]:
    value = node.get(name)
    if not isinstance(value, list):
        shown = truncate(repr(value))
        raise InputError(f"In the plan, '{name}' of {place} should be a list, but is {shown}.")
    return value


def _build(place: str, build: Callable[[], T]) -> T:
    try:
        return build()
    except InputError as error:
        raise InputError(f"In the plan, {place}: {error}") from error
