"""From pydantic's verdict to an error a person can act on: the place, the words, the nearest valid one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kokoro_tvm.common.spec import PATTERNS, Spec
from kokoro_tvm.common.words import hint, nearest, shorten
from kokoro_tvm.recipe._scalar import ScalarError, plain
from kokoro_tvm.recipe._source import Span
from kokoro_tvm.recipe._yaml import YamlNode, parse, read

__all__ = ["check", "place", "read_document"]

_File = TypeVar("_File", bound=Spec)
_Path = Sequence[int | str]
_MAX_NODES = 10_000  # of files that are no recipes

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list, [a, b]",
    "dict_type": "a mapping, {key: value}",
    "model_type": "a mapping, {key: value}",
    "model_attributes_type": "a mapping, {key: value}",
}
_BOUNDS = {
    "greater_than_equal": ("too small; the least is", "ge"),
    "greater_than": ("too small; it must be above", "gt"),
    "less_than_equal": ("too large; the most is", "le"),
    "less_than": ("too large; it must be below", "lt"),
}
_SCALARS = {"bool", "int", "float", "str"}  # pydantic's names for the alternatives of a config value


def read_document(path: Path, kind: type[_File]) -> _File:
    """Another YAML file, read as a `kind` as strictly as a recipe. Raises RecipeError, with the place."""
    return check(parse(read(path), _MAX_NODES), kind)


def check(root: YamlNode, kind: type[_File]) -> _File:
    """The document as a `kind`. Raises RecipeError at the first fault, one in the file itself before those
    in files that it extends, counting the others."""
    try:
        return kind.model_validate(root.data())
    except ValidationError as error:
        verdict = error.errors(include_url=False, include_input=False)
    # A list with a bad item is also reported as too short; the item is what to mend.
    around = {details["loc"][:depth] for details in verdict for depth in range(len(details["loc"]))}
    found = [_problem(root, details) for details in verdict if details["loc"] not in around]
    distinct = {
        (span.source != root.span.source, span.source.path, span.line, span.column): (span, worded)
        for span, worded in reversed(found)
    }
    (span, worded), *others = (distinct[at] for at in sorted(distinct))
    message = worded()  # the first alone: looking for the nearest word takes time, and there may be thousands
    if others:
        below = " below" if all(other.source == span.source for other, _ in others) else ""
        message += f" ({len(others)} more {'fault' if len(others) == 1 else 'faults'}{below})"
    raise span.error(message)


def place(root: YamlNode, path: _Path) -> tuple[YamlNode, Span, list[int | str]]:
    """The node at a path, its key's place (its own for list items) and the path that exists.

    Parts that name no key or item (pydantic puts a union's choice into its paths) are passed over.
    """
    node, key, way = root, root.span, list[int | str]()
    for part in path:
        if node.entries is not None and isinstance(part, str) and part in node.entries:
            entry = node.entries[part]
            node, key = entry.value, entry.key
        elif node.items is not None and isinstance(part, int) and 0 <= part < len(node.items):
            node = node.items[part]
            key = node.span
        else:
            continue
        way.append(part)
    return node, key, way


def _problem(root: YamlNode, details: ErrorDetails) -> tuple[Span, Callable[[], str]]:
    """The place of a fault, and what words it once they are needed."""
    context: dict[str, Any] = details.get("ctx", {})
    path: list[int | str] = [*details["loc"], *context.get("path", ())]
    path += [context[name] for name in ("index", "key") if name in context]
    path += ["kind"] if details["type"] == "union_tag_invalid" else []
    node, key, way = place(root, path)
    kind = details["type"]
    if kind == "unknown_key":
        return key, lambda: _unknown_key(context, way)
    if kind == "missing":
        return key, lambda: f"{_dotted(way) or 'the recipe'} lacks the key `{details['loc'][-1]}`"
    if kind == "union_tag_not_found":
        span, message = _without_kind(node, key, way)
        return span, lambda: message
    if kind in _EXPECTED:
        return node.span, lambda: _wrong_type(kind, node, way, path)
    return node.span, lambda: f"{_dotted(way)}: {_worded(details, node)}"


def _unknown_key(context: dict[str, Any], way: list[int | str]) -> str:
    word, what, valid = context["key"], context["what"], context["valid"]
    where = f" in {_dotted(way[:-1])}" if way[:-1] else ""
    return f"unknown {what} `{shorten(word)}`{where}{hint(word, valid)}"


def _without_kind(node: YamlNode, place: Span, way: list[int | str]) -> tuple[Span, str]:
    """A mapping that does not say which of several kinds it is, perhaps for a typo in `kind`."""
    if node.entries is None:
        return node.span, f"{_dotted(way)}: expected a mapping with the key `kind`, found {_shown(node)}"
    for key, entry in node.entries.items():
        if nearest(key, ["kind"]):
            return entry.key, f"unknown key `{shorten(key)}` in {_dotted(way)}; did you mean `kind`?"
    return place, f"{_dotted(way)} lacks the key `kind`"


def _wrong_type(kind: str, node: YamlNode, way: list[int | str], path: _Path) -> str:
    among_scalars = path[-1] in _SCALARS and path[-1] not in way
    expected = "true, false, a number or text" if among_scalars else _EXPECTED[kind]
    return f"{_dotted(way)}: expected {expected}, found {_shown(node)}{_quotes(kind, node)}"


def _quotes(kind: str, node: YamlNode) -> str:
    """What to do about quotes, where they alone make the value another."""
    if kind == "string_type" and isinstance(node.scalar, int | float):
        return "; put it in quotes"
    if kind in ("int_type", "float_type", "bool_type") and isinstance(node.scalar, str):
        try:
            bare = plain(node.scalar)
        except ScalarError:
            return ""
        if isinstance(bare, bool if kind == "bool_type" else int | float):
            return "; take the quotes away"
    return ""


def _worded(details: ErrorDetails, node: YamlNode) -> str:
    """What is wrong with a value, in words."""
    kind: str = details["type"]
    context: dict[str, Any] = details.get("ctx", {})
    match kind:
        case "unknown_word":
            word, valid = context["word"], context["valid"]
            return f"unknown {context['what']} `{shorten(word)}`{hint(word, valid)}"
        case "literal_error" | "union_tag_invalid":
            listed = context["expected" if kind == "literal_error" else "expected_tags"]
            valid = re.findall(r"'([^']*)'", listed)
            if isinstance(node.scalar, str):
                return f"unknown value {_shown(node)}{hint(node.scalar, valid)}"
            return f"expected a word, found {_shown(node)}{hint('', valid)}"
        case "string_pattern_mismatch":
            return f"{_shown(node)} is not {PATTERNS[context['pattern']]}"
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            words, name = _BOUNDS[kind]
            bound = context[name]
            return f"{_shown(node)} is {words} {bound if isinstance(bound, int) else f'{bound:g}'}"
        case "too_short" | "string_too_short":
            count = context["min_length"]
            return f"needs at least {count} {_unit(kind)}{'' if count == 1 else 's'}"
        case "too_long" | "string_too_long":
            size = len(node.scalar) if isinstance(node.scalar, str) else len(node.items or ())
            return f"has {size} {_unit(kind)}s, more than the most, {context['max_length']}"
        case _:
            return details["msg"]


def _unit(kind: str) -> str:
    return "character" if kind.startswith("string") else "item"


def _shown(node: YamlNode) -> str:
    """A value in an error's words."""
    if node.entries is not None:
        return "a mapping"
    if node.items is not None:
        return "a list"
    if isinstance(node.scalar, str):
        return f"`{shorten(node.scalar)}`"
    return json.dumps(node.scalar)


def _dotted(way: Sequence[int | str]) -> str:
    """buckets.frames[1]"""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in way).removeprefix(".")
    return f"`{text}`" if text else ""
