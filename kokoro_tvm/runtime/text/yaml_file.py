"""YAML files of lines `key: value`, whose errors have file, line and column.

The parser's events are read directly: no object is built, so hostile files can neither grow nor nest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import InputError

__all__ = ["YamlFile"]

_MAX_BYTES = 8 << 20


class YamlFile:
    """File that is one mapping, of strings to strings or to lists of strings."""

    def __init__(self, path: Path, what: str, line: str, value: str, longest: int) -> None:
        """Create a file that is not read yet.

        Args:
            path: Of the file.
            what: What it is, for messages.
            line: Example of a line.
            value: What a string of it is.
            longest: Most characters of a string.
        """
        self.path = path
        self._what = what
        self._line = line
        self._value = value
        self._longest = longest
        self._events: Iterator[Any] = iter(())

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        """Yield keys and values as events; the caller reads a list before the next pair.

        Raises:
            InputError: The file cannot be read, is not YAML or no mapping.
        """
        yaml = self._yaml()
        self._events = events = yaml.parse(self._text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        try:
            next(events)  # the stream's start
            if isinstance(next(events), yaml.StreamEndEvent):
                return
            first = next(events)
            if not isinstance(first, yaml.MappingStartEvent):
                raise self.error(first, f"a {self._what} is a mapping, lines of `{self._line}`.")
            self._check_plain(first)
            while not isinstance(key := next(events), yaml.MappingEndEvent):
                yield key, next(events)
            next(events)  # the document's end
            if not isinstance(after := next(events), yaml.StreamEndEvent):
                raise self.error(after, "a second document begins here. Put all of it into one.")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
            raise InputError(
                f"{self.path}{place}: this is not YAML: {error.problem or error.context}."
            ) from error
        except yaml.YAMLError as error:
            raise InputError(f"{self.path}: this is not YAML: {error}.") from error

    def string(self, event: Any) -> str:
        """Return the text of a scalar; plain ones such as `no` and `1984` are strings too.

        Raises:
            InputError: The event is no scalar, or its text is empty or too long.
        """
        self._check_plain(event)
        if not hasattr(event, "value"):
            raise self.error(event, f"here {self._value} should stand, not a list or a mapping.")
        value: str = event.value
        if not value.strip() or (value in ("~", "null") and not event.style):
            raise self.error(
                event, f"this is empty. A line is `{self._line}`; put marks such as # in quotes."
            )
        if len(value) > self._longest:
            raise self.error(event, f"this has {len(value)} characters; {self._longest} are the most.")
        return value

    def items(self, event: Any) -> list[Any] | None:
        """Return the events of the list that begins with an event, or None if none begins."""
        if type(event).__name__ != "SequenceStartEvent":
            return None
        self._check_plain(event)
        items = []
        while type(item := next(self._events)).__name__ != "SequenceEndEvent":
            self.string(item)
            items.append(item)
        return items

    def line(self, event: Any) -> int:
        """Return the line of an event, from 1."""
        line: int = event.start_mark.line
        return line + 1

    def error(self, event: Any, message: str) -> InputError:
        """Return an error with the place of an event."""
        return InputError(f"{self.path}:{self.line(event)}:{event.start_mark.column + 1}: {message}")

    def _text(self) -> str:
        try:
            with self.path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            raise InputError(f"The {self._what} {self.path} cannot be read: {error}.") from error
        if len(data) > _MAX_BYTES:
            raise InputError(
                f"The {self._what} {self.path} is larger than {_MAX_BYTES >> 20} MiB. Is it the right file?"
            )
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            column = error.start - data.rfind(b"\n", 0, error.start)
            raise InputError(
                f"{self.path}:{line}:{column}: this is not UTF-8. Save the {self._what} as UTF-8."
            ) from error

    def _yaml(self) -> Any:
        try:
            import yaml
        except ImportError as error:
            raise InputError(
                f"Reading a {self._what} needs PyYAML, which cannot be imported ({error}). Run "
                "`pip install PyYAML`."
            ) from error
        return yaml

    def _check_plain(self, event: Any) -> None:
        if type(event).__name__ == "AliasEvent" or getattr(event, "anchor", None) is not None:
            raise self.error(event, f"anchors and aliases ({event.anchor}) are not allowed. Write the value.")
        if getattr(event, "tag", None) is not None:
            raise self.error(event, f"tags ({event.tag}) are not allowed. Remove it.")
