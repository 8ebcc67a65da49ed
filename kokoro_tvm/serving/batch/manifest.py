"""The manifest of a batch: JSON lines, one an utterance. A bad line keeps no other from being spoken."""

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

__all__ = ["BadLine", "BatchUtterance", "read_manifest"]

_FIELDS = ("name", "text", "phonemes", "voice", "speed", "seed")
_NAME = re.compile(r"[\w][\w.+-]{0,199}")


@dataclass(frozen=True)
class BatchUtterance:
    """A line of the manifest: what is spoken, and the name of its file without a suffix.

    phonemes: whether the text is phonemes; voice: None for the bundle's default.
    """

    line: int
    name: str
    text: str
    phonemes: bool
    voice: str | None
    speed: float
    seed: int


@dataclass(frozen=True)
class BadLine:
    """A line that is not spoken, and why."""

    line: int
    message: str


def read_manifest(path: Path) -> tuple[list[BatchUtterance], list[BadLine]]:
    """Utterances and bad lines, each in the order of the file; empty lines are skipped.

    Raises InputError for a file that cannot be read.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    found: dict[str, BatchUtterance] = {}
    bad: list[BadLine] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            one = _utterance(number, line)
            # Where file systems ignore case, two names would be one file.
            if (first := found.setdefault(one.name.lower(), one)) is not one:
                raise InputError(f"the name {one.name!r} stands in line {first.line} already")
        except InputError as error:
            bad.append(BadLine(number, str(error)))
    return list(found.values()), bad


def _utterance(number: int, line: bytes) -> BatchUtterance:
    """Raises InputError for what is wrong with a line."""
    try:
        node = json.loads(line, object_pairs_hook=_object)
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
    name = _given(node, "name", str)
    if name is None or not _NAME.fullmatch(name):
        raise InputError(
            "`name` should be the name of a file without its suffix: letters, digits, `.`, `_`, `+`, `-`, at "
            f"most 200, not beginning with a mark, but is {json.dumps(name, ensure_ascii=False)}"
        )
    text = _given(node, "text", str) or _given(node, "phonemes", str) or ""
    speed, seed = _given(node, "speed", (int, float)), _given(node, "seed", int)
    return BatchUtterance(
        number,
        name,
        text,
        "phonemes" in node,
        _given(node, "voice", str),
        check_speed(1.0 if speed is None else speed),
        check_seed(0 if seed is None else seed),
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    node: dict[str, Any] = {}
    for field, value in pairs:
        if field in node:
            raise InputError(f"the field `{field}` stands here twice")
        node[field] = value
    return node


_KINDS: dict[Any, str] = {str: "a string", int: "a whole number", (int, float): "a number"}


def _given(node: dict[str, Any], field: str, kind: Any) -> Any:
    value = node.get(field)
    if field in node and (isinstance(value, bool) or not isinstance(value, kind)):
        shown = json.dumps(value, ensure_ascii=False)
        raise InputError(f"`{field}` should be {_KINDS[kind]}, but is {shown}")
    if isinstance(value, str) and any("\ud800" <= symbol <= "\udfff" for symbol in value):
        raise InputError(f"`{field}` holds half of a character, \\ud800 to \\udfff without the other half")
    return value
