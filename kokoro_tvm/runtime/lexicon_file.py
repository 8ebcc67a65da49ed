"""A user's lexicon: a YAML file of `word: phonemes`, each mistake with its file, line and column."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.frontend.user_lexicon import UserLexicon
from kokoro_tvm.runtime.markup.values import check_symbols

__all__ = ["read_lexicon"]

_MOST_BYTES = 8 << 20
_LONGEST = 200  # characters of a word, and of its phonemes


def read_lexicon(path: str | Path, symbols: Collection[str]) -> UserLexicon:
    """The words of a file and their phonemes, which are of `symbols`.

    Raises InputError for what cannot be read, is no mapping, has a word twice, or phonemes that are unknown.
    """
    path = Path(path)
    entries: dict[str, str] = {}
    lines: dict[str, int] = {}
    for key, value in _pairs(path, _text(path)):
        word, phonemes = (_string(path, event) for event in (key, value))
        spelled = " ".join(word.split())
        if spelled in entries:
            raise _error(path, key, f"'{word}' stands in line {lines[spelled]} already. Remove one of them.")
        try:
            entries[spelled] = check_symbols(phonemes, symbols)
        except InputError as error:
            raise _error(path, value, str(error)) from error
        lines[spelled] = _line(key)
    return UserLexicon(entries)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"The lexicon {path} cannot be read: {error}.") from error
    if len(data) > _MOST_BYTES:
        raise InputError(f"The lexicon {path} is larger than {_MOST_BYTES >> 20} MiB. Is it the right file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise InputError(f"{path}:{line}:{column}: this is not UTF-8. Save the lexicon as UTF-8.") from error


def _pairs(path: Path, text: str) -> Iterator[tuple[Any, Any]]:
    """Keys and values as events of the parser: nothing is built, so nothing can grow or nest."""
    yaml = _yaml()
    events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    try:
        next(events)  # the stream's start
        if isinstance(next(events), yaml.StreamEndEvent):
            return
        first = next(events)
        if not isinstance(first, yaml.MappingStartEvent):
            raise _error(path, first, "a lexicon is a mapping, lines of `word: phonemes`.")
        _check_plain(path, first)
        while not isinstance(key := next(events), yaml.MappingEndEvent):
            yield key, next(events)
        next(events)  # the document's end
        if not isinstance(after := next(events), yaml.StreamEndEvent):
            raise _error(path, after, "a second document begins here. Put all words into one.")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InputError(f"{path}{place}: this is not YAML: {error.problem or error.context}.") from error
    except yaml.YAMLError as error:
        raise InputError(f"{path}: this is not YAML: {error}.") from error


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise InputError(
            f"Reading a lexicon needs PyYAML, which cannot be imported ({error}). Run `pip install PyYAML`."
        ) from error
    return yaml


def _string(path: Path, event: Any) -> str:
    """The text of a word or of its phonemes; every plain scalar is one, `no` and `1984` too."""
    _check_plain(path, event)
    if not hasattr(event, "value"):
        raise _error(path, event, "here a word or its phonemes should stand, not a list or a mapping.")
    value: str = event.value
    if not value.strip() or (value in ("~", "null") and not event.style):
        raise _error(path, event, "this is empty. A line is `word: phonemes`; put marks such as # in quotes.")
    if len(value) > _LONGEST:
        raise _error(path, event, f"this has {len(value)} characters; {_LONGEST} are the most.")
    return value


def _check_plain(path: Path, event: Any) -> None:
    if type(event).__name__ == "AliasEvent" or getattr(event, "anchor", None) is not None:
        raise _error(path, event, f"anchors and aliases ({event.anchor}) are not allowed. Write the value.")
    if getattr(event, "tag", None) is not None:
        raise _error(path, event, f"tags ({event.tag}) are not allowed. Remove it.")


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _error(path: Path, event: Any, message: str) -> InputError:
    return InputError(f"{path}:{_line(event)}:{event.start_mark.column + 1}: {message}")
