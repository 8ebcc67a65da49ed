"""Fields of requests: what each may be and what it means.

A request is a frozen dataclass whose fields are made by `field_of`. Reading a body, the OpenAPI document and
the tables of the docs all go by it; there is no second list.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kokoro_tvm.serving.errors import ApiError
from kokoro_tvm.serving.settings import Settings

__all__ = [
    "Field",
    "FieldKind",
    "choice",
    "field_of",
    "fields",
    "flag",
    "number",
    "read",
    "schema",
    "text",
    "whole",
]

T = TypeVar("T")
_MISSING = object()


@dataclass(frozen=True)
class FieldKind:
    """A kind of value: its JSON schema, and what makes a value of a node, which raises ApiError."""

    schema: Mapping[str, Any]
    read: Callable[[Any, str], Any]


@dataclass(frozen=True)
class Field:
    """One field of a request; `required` ones have no default."""

    name: str
    kind: FieldKind
    about: str
    required: bool
    default: Any


def field_of(kind: FieldKind | Callable[[Settings], FieldKind], about: str, default: Any = _MISSING) -> Any:
    """A dataclass's field; without a default it is required. `null` stands for the default.

    kind: a function where a server's settings decide what a value may be.
    """
    metadata = {"kind": kind, "about": about}
    if default is _MISSING:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def fields(record: type[Any], settings: Settings) -> Iterator[Field]:
    """The fields of a request in order, as a server of these settings takes them."""
    for found in dataclasses.fields(record):
        required = found.default is dataclasses.MISSING
        default = None if required else found.default
        kind = found.metadata["kind"]
        kind = kind if isinstance(kind, FieldKind) else kind(settings)
        yield Field(found.name, kind, found.metadata["about"], required, default)


def read(record: type[T], node: Any, settings: Settings, place: str = "") -> tuple[T, tuple[str, ...]]:
    """(the request that a JSON value is, names of its fields that are unknown and were passed over).

    A record may name a field in ALONE, whose value may stand for the whole object, and in ALIASES other names
    of its fields, which hold where the field itself is not there.

    Raises ApiError, status 400, that names the field.
    """
    if (alone := getattr(record, "ALONE", None)) and isinstance(node, str | list):
        node = {alone: node}
    if not isinstance(node, dict):
        raise wrong(place or None, f"{_called(place)} should be a JSON object, but is {shown(node)}.")
    aliases: Mapping[str, str] = getattr(record, "ALIASES", {})
    node = {aliases[name] if aliases.get(name, name) not in node else name: node[name] for name in node}
    values: dict[str, Any] = {}
    known = {field.name: field for field in fields(record, settings)}
    for name, field in known.items():
        value = node.get(name)
        path = f"{place}.{name}" if place else name
        if value is not None:
            values[name] = field.kind.read(value, path)
        elif field.required:
            raise wrong(path, f"{_called(path)} is missing. {field.about}", "missing_required_parameter")
    return record(**values), tuple(name for name in node if name not in known)


def schema(record: type[Any], settings: Settings) -> dict[str, Any]:
    """The JSON schema of a request to a server of these settings."""
    properties: dict[str, Any] = {}
    required = []
    for field in fields(record, settings):
        shape = dict(field.kind.schema)
        if field.required:
            required.append(field.name)
        else:
            shape = {"anyOf": [shape, {"type": "null"}]}
            default = field.default
            shape |= {} if default is None or dataclasses.is_dataclass(default) else {"default": default}
        properties[field.name] = shape | {"description": field.about}
    whole = {"type": "object", "required": required, "properties": properties}
    alone = getattr(record, "ALONE", None)
    return whole if alone is None else {"anyOf": [whole, properties[alone]]}


def text(most: int, least: int = 0) -> FieldKind:
    """A string of `least` to `most` characters."""

    def reads(node: Any, path: str) -> str:
        if not isinstance(node, str):
            raise wrong(path, f"{_called(path)} should be a string, but is {shown(node)}.")
        if not least <= len(node) <= most:
            code = "string_above_max_length" if node else "empty_string"
            raise wrong(path, f"{_called(path)} has {len(node)} characters; {least} to {most} may be.", code)
        try:
            node.encode("utf-8")
        except UnicodeEncodeError:
            words = f"{_called(path)} has half of a surrogate pair, which is no character."
            raise wrong(path, words) from None
        return node

    return FieldKind({"type": "string", "minLength": least, "maxLength": most}, reads)


def number(low: float, high: float) -> FieldKind:
    """A finite number from `low` to `high`."""
    return _numeric("number", "a number", float, low, high, f"{low:g} to {high:g}")


def whole(low: int, high: int) -> FieldKind:
    """A whole number from `low` to `high`."""
    return _numeric("integer", "a whole number", int, low, high, f"{low} to {high}")


def _numeric(name: str, about: str, kind: type[float], low: float, high: float, bounds: str) -> FieldKind:
    def reads(node: Any, path: str) -> float:
        if isinstance(node, bool) or not isinstance(node, (int, kind)):
            raise wrong(path, f"{_called(path)} should be {about}, but is {shown(node)}.")
        if not low <= node <= high:
            raise wrong(path, f"{_called(path)} should be {bounds}, but is {shown(node)}.")
        return kind(node)

    return FieldKind({"type": name, "minimum": low, "maximum": high}, reads)


def flag() -> FieldKind:
    """True or false."""

    def reads(node: Any, path: str) -> bool:
        if not isinstance(node, bool):
            raise wrong(path, f"{_called(path)} should be true or false, but is {shown(node)}.")
        return node

    return FieldKind({"type": "boolean"}, reads)


def choice(*words: str) -> FieldKind:
    """One of some words."""

    def reads(node: Any, path: str) -> str:
        if node not in words or not isinstance(node, str):
            raise wrong(
                path,
                f"{_called(path)} should be one of {', '.join(words)}, but is {shown(node)}.",
                "invalid_value",
            )
        return node

    return FieldKind({"type": "string", "enum": list(words)}, reads)


def items(kind: FieldKind, least: int, most: int) -> FieldKind:
    """A list of `least` to `most` values of a kind."""

    def reads(node: Any, path: str) -> list[Any]:
        if not isinstance(node, list):
            raise wrong(path, f"{_called(path)} should be a list, but is {shown(node)}.")
        if not least <= len(node) <= most:
            raise wrong(path, f"{_called(path)} has {len(node)} items; {least} to {most} may be.")
        return [kind.read(item, f"{path}[{place}]") for place, item in enumerate(node)]

    shape = {"type": "array", "items": dict(kind.schema), "minItems": least, "maxItems": most}
    return FieldKind(shape, reads)


def nested(record: type[Any]) -> Callable[[Settings], FieldKind]:
    """An object with fields of its own; those that are unknown are passed over."""
    return lambda settings: FieldKind(
        schema(record, settings), lambda node, path: read(record, node, settings, path)[0]
    )


def wrong(param: str | None, message: str, code: str = "invalid_type") -> ApiError:
    """The error of a field."""
    return ApiError(400, message, param, code)


def shown(node: Any) -> str:
    """A value in an error's words."""
    if isinstance(node, dict):
        return "an object"
    if isinstance(node, list):
        return "a list"
    if isinstance(node, str):
        return repr(node if len(node) <= 40 else f"{node[:39]}…")
    if isinstance(node, int) and not isinstance(node, bool) and abs(node) >= 10**40:
        return "a very large number"
    return "null" if node is None else str(node).lower() if isinstance(node, bool) else str(node)


def _called(path: str) -> str:
    return f"`{path}`" if path else "The body"
