"""Validation of YAML trees by pydantic; an error has the place, the nearest valid word and a remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kokoro_tvm.common.spec import PATTERNS, Spec
from kokoro_tvm.common.words import hint, nearest, shorten
from kokoro_tvm.common.yaml_file import Span, YamlNode, parse_scalar, parse_yaml, read_text

_Record = TypeVar("_Record", bound=Spec)
_Path = Sequence[int | str]

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
    "greater_than_equal": "too small; the least is {ge}",
    "greater_than": "too small; it must be above {gt}",
    "less_than_equal": "too large; the most is {le}",
    "less_than": "too large; it must be below {lt}",
    "finite_number": "not a finite number; write a plain decimal such as 0.5",
}
_UNION = {"bool", "int", "float", "str"}  # pydantic's names for the alternatives of a config value


def read_document(path: Path, kind: type[_Record]) -> _Record:
    """Read and validate a YAML file. Raises RecipeError, with the place."""
    return validate(parse_yaml(read_text(path)), kind)


def validate(root: YamlNode, kind: type[_Record]) -> _Record:
    """Return the record that a tree describes.

    Raises:
        RecipeError: The first fault, one in the file of `root` before those in files that it extends, and how
            many others there are.
    """
    try:
        return kind.model_validate(root.data())
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
    # A list with a bad item is also reported as too short; the item is what to mend.
    outer = {fault["loc"][:depth] for fault in details for depth in range(len(fault["loc"]))}
    faults = [_describe(root, fault) for fault in details if fault["loc"] not in outer]
    by_place = {
        (span.source != root.span.source, span.source.path, span.line, span.column): (span, message)
        for span, message in reversed(faults)
    }
    (span, message), *others = (by_place[place] for place in sorted(by_place))
    if others:
        below = " below" if all(other.source == span.source for other, _ in others) else ""
        message += f" ({len(others)} more {'fault' if len(others) == 1 else 'faults'}{below})"
    raise span.error(message)


def locate(root: YamlNode, path: _Path) -> tuple[YamlNode, list[int | str]]:
    """Return the node at a path, and the path.

    Parts that name no key or item are skipped: pydantic adds the alternative of a union to its paths.
    """
    node, existing = root, list[int | str]()
    for part in path:
        if isinstance(part, str) and part in node.entries:
            node = node.entries[part]
        elif isinstance(part, int) and 0 <= part < len(node.items):
            node = node.items[part]
        else:
            continue
        existing.append(part)
    return node, existing


def _describe(root: YamlNode, fault: ErrorDetails) -> tuple[Span, str]:
    """Return the place and the message of a fault."""
    kind, context = fault["type"], fault.get("ctx", {})
    path: list[int | str] = [*fault["loc"], *context.get("path", ())]
    path += [context[name] for name in ("index", "key") if name in context]
    path += ["kind"] if kind == "union_tag_invalid" else []
    node, existing = locate(root, path)
    field = _dot(existing)
    if kind == "unknown_key":
        place = f" in {_dot(existing[:-1])}" if existing[:-1] else ""
        word = context["key"]
        return node.key, f"unknown {context['what']} `{shorten(word)}`{place}{hint(word, context['valid'])}"
    if kind == "missing":
        return node.key, f"{field or 'the recipe'} lacks the key `{fault['loc'][-1]}`"
    if kind == "union_tag_not_found":
        return _describe_missing_kind(node, field)
    if kind in _EXPECTED:
        is_union = path[-1] in _UNION and path[-1] not in existing
        expected = "true, false, a number or text" if is_union else _EXPECTED[kind]
        return node.span, f"{field}: expected {expected}, found {_quote(node)}{_advise_quotes(kind, node)}"
    return node.span, f"{field}: {_describe_value(fault, node)}"


def _describe_missing_kind(node: YamlNode, field: str) -> tuple[Span, str]:
    """Describe a mapping without `kind`, perhaps for a typo in it."""
    if not isinstance(node.value, dict):
        return node.span, f"{field}: expected a mapping with the key `kind`, found {_quote(node)}"
    for key, entry in node.entries.items():
        if nearest(key, ["kind"]):
            return entry.key, f"unknown key `{shorten(key)}` in {field}; did you mean `kind`?"
    return node.key, f"{field} lacks the key `kind`"


def _advise_quotes(kind: str, node: YamlNode) -> str:
    """Say what to do about quotes if they alone make the type wrong."""
    if kind == "string_type" and isinstance(node.value, int | float):
        return "; put it in quotes"
    if kind in ("int_type", "float_type", "bool_type") and isinstance(node.value, str):
        try:
            bare = parse_scalar(node.value)
        except ValueError:
            return ""
        if isinstance(bare, bool if kind == "bool_type" else int | float):
            return "; take the quotes away"
    return ""


def _describe_value(fault: ErrorDetails, node: YamlNode) -> str:
    """Return the message of a fault of a value, from pydantic's type of error."""
    kind: str = fault["type"]
    context: dict[str, Any] = fault.get("ctx", {})
    match kind:
        case "unknown_word":
            word = context["word"]
            return f"unknown {context['what']} `{shorten(word)}`{hint(word, context['valid'])}"
        case "literal_error" | "union_tag_invalid":
            choices = context["expected" if kind == "literal_error" else "expected_tags"]
            valid = re.findall(r"'([^']*)'", choices)
            if isinstance(node.value, str):
                return f"unknown value {_quote(node)}{hint(node.value, valid)}"
            return f"expected a word, found {_quote(node)}{hint('', valid)}"
        case "string_pattern_mismatch":
            return f"{_quote(node)} is not {PATTERNS[context['pattern']]}"
        case "too_short" | "string_too_short":
            count, unit = context["min_length"], _unit(kind)
            return f"needs at least {count} {unit}{'' if count == 1 else 's'}"
        case "too_long" | "string_too_long":
            size = len(node.value) if isinstance(node.value, str) else len(node.items)
            return f"has {size} {_unit(kind)}s, more than the most, {context['max_length']}"
        case _ if kind in _BOUNDS:
            bounds = {name: f"{b:g}" if isinstance(b, float) else b for name, b in context.items()}
            return f"{_quote(node)} is {_BOUNDS[kind].format(**bounds)}"
        case _:
            return fault["msg"]


def _unit(kind: str) -> str:
    """Return what the length of a value counts."""
    return "character" if kind.startswith("string") else "item"


def _quote(node: YamlNode) -> str:
    """Format a value for a message."""
    if isinstance(node.value, dict | list):
        return "a mapping" if isinstance(node.value, dict) else "a list"
    return f"`{shorten(node.value)}`" if isinstance(node.value, str) else shorten(json.dumps(node.value))


def _dot(path: Sequence[int | str]) -> str:
    """Return `buckets.frames[1]` of ("buckets", "frames", 1)."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    return f"`{text}`" if text else ""
