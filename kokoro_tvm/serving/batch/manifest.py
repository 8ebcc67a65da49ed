"""Manifest of a batch: a JSON object a line. An invalid line does not affect the others."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.session.noise import check_seed
from kokoro_tvm.runtime.speech.checks import check_speed
from kokoro_tvm.runtime.text.markup.omissions import check_omissions

_FIELDS = ("name", "text", "phonemes", "voice", "speed", "seed", "language", "omit")
_NAME = re.compile(r"[\w][\w.+-]{0,199}")


@dataclass(frozen=True)
class BatchUtterance:
    """A line of the manifest.

    Attributes:
        line: Its number.
        name: Of the file, without its suffix.
        text: To speak.
        phonemes: Whether the text is phonemes.
        voice: None for the bundle's default.
        speed: Of the speech.
        seed: Of the noise.
        language: Tag or letter of the text's language; None for the voice's.
        omit: Kinds of text that are left out.
    """

    line: int
    name: str
    text: str
    phonemes: bool
    voice: str | None
    speed: float
    seed: int
    language: str | None = None
    omit: tuple[str, ...] = ()


@dataclass(frozen=True)
class BadLine:
    """An invalid line, and the reason."""

    line: int
    message: str


def read_manifest(path: Path) -> tuple[list[BatchUtterance], list[BadLine]]:
    """Read the utterances and the invalid lines of a file, in order; empty lines are skipped.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    utterances: dict[str, BatchUtterance] = {}
    bad: list[BadLine] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            utterance = _parse_line(number, line)
            # Some file systems ignore case.
            first = utterances.setdefault(utterance.name.lower(), utterance)
            if first is not utterance:
                raise InputError(f"the name {utterance.name!r} stands in line {first.line} already")
        except InputError as error:
            bad.append(BadLine(number, str(error)))
    return list(utterances.values()), bad


def _parse_line(number: int, line: bytes) -> BatchUtterance:
    """Parse a line. Raises InputError if it is invalid."""
    try:
        node = json.loads(line, object_pairs_hook=_create_object)
    except UnicodeDecodeError as error:
        raise InputError(f"this is not UTF-8 ({error.reason} at byte {error.start + 1})") from error
    except json.JSONDecodeError as error:
        raise InputError(f"this is no JSON ({error.msg} at column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, a thousand brackets
        raise InputError(f"this is no line of a manifest ({error})") from error
    if not isinstance(node, dict):
        raise InputError('this is no object, such as {"name": "one", "text": "Hello world."}')
    for field in node:
        if field not in _FIELDS:
            near = get_close_matches(field, _FIELDS, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(_FIELDS)}"
            raise InputError(f"unknown field `{field}`; {hint}")
    if ("text" in node) == ("phonemes" in node):
        raise InputError("give either `text` or `phonemes`")
    for field in ("language", "omit"):
        if field in node and "phonemes" in node:
            raise InputError(f"`{field}` is for `text`, not for `phonemes`")
    name = _read_field(node, "name", str)
    if name is None or not _NAME.fullmatch(name):
        raise InputError(
            "`name` should be the name of a file without its suffix: letters, digits, `.`, `_`, `+`, `-`, at "
            f"most 200, not beginning with a mark, but is {json.dumps(name, ensure_ascii=False)}"
        )
    text = _read_field(node, "text", str) or _read_field(node, "phonemes", str) or ""
    speed, seed = _read_field(node, "speed", (int, float)), _read_field(node, "seed", int)
    return BatchUtterance(
        number,
        name,
        text,
        "phonemes" in node,
        _read_field(node, "voice", str),
        check_speed(1.0 if speed is None else speed),
        check_seed(0 if seed is None else seed),
        _read_field(node, "language", str),
        _read_omissions(node),
    )


def _read_omissions(node: dict[str, Any]) -> tuple[str, ...]:
    """Return the kinds of text to leave out, sorted. Raises InputError for an unknown one."""
    kinds = node.get("omit", [])
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise InputError('`omit` should be a list, such as ["citations", "notes"]')
    return tuple(sorted(check_omissions(kinds)))


def _create_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object. Raises InputError for a field that stands twice."""
    node: dict[str, Any] = {}
    for field, value in pairs:
        if field in node:
            raise InputError(f"the field `{field}` stands here twice")
        node[field] = value
    return node


_TYPE_NAMES: dict[Any, str] = {str: "a string", int: "a whole number", (int, float): "a number"}


def _read_field(node: dict[str, Any], field: str, kind: Any) -> Any:
    """Return a field; None if it is missing. Raises InputError for another type or half a character."""
    value = node.get(field)
    if field in node and (isinstance(value, bool) or not isinstance(value, kind)):
        shown = json.dumps(value, ensure_ascii=False)
        raise InputError(f"`{field}` should be {_TYPE_NAMES[kind]}, but is {shown}")
    if isinstance(value, str) and any("\ud800" <= symbol <= "\udfff" for symbol in value):
        raise InputError(f"`{field}` holds half of a character, \\ud800 to \\udfff without the other half")
    return value
