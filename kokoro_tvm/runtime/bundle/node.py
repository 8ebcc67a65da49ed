"""Typed access to a JSON object; errors name the place, the expected type and the actual one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from kokoro_tvm.common.errors import BundleError

T = TypeVar("T")


class ManifestNode:
    """A JSON object of a manifest with its place (`bundle.json: components.bert`)."""

    def __init__(self, value: Any, place: str) -> None:
        """Wrap a value; raises BundleError if it is not a JSON object."""
        if not isinstance(value, dict):
            raise BundleError(f"{place} should be a JSON object but is {_kind(value)}. {_ADVICE}")
        self._value: dict[str, Any] = value
        self.place = place

    def get(self, key: str, kind: type[T]) -> T:
        """Return the value of `key`; raises BundleError unless it is of `kind` (bool is no int)."""
        if key not in self._value:
            raise BundleError(f"{self.place} lacks '{key}'. {_ADVICE}")
        value = self._value[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise BundleError(
                f"{self.place}: '{key}' should be {kind.__name__} but is {_kind(value)} ({value!r}). "
                f"{_ADVICE}"
            )
        return value

    def has(self, key: str) -> bool:
        """Return whether `key` exists and is not null."""
        return self._value.get(key) is not None

    def number(self, key: str) -> float:
        """Return the number of `key`; raises BundleError."""
        whole = isinstance(self._value.get(key), int)
        try:
            return float(self.get(key, int if whole else float))
        except OverflowError as error:
            raise BundleError(f"{self.place}: '{key}' is too large. {_ADVICE}") from error

    def child(self, key: str) -> ManifestNode:
        """Return the object of `key`; raises BundleError."""
        return ManifestNode(self.get(key, dict), f"{self.place}: {key}")

    def children(self, key: str) -> Iterator[ManifestNode]:
        """Yield the objects of the list of `key`; raises BundleError."""
        for index, value in enumerate(self.get(key, list)):
            yield ManifestNode(value, f"{self.place}: {key}[{index}]")

    def names(self) -> tuple[str, ...]:
        """Return the keys in the order of the file."""
        return tuple(self._value)


_ADVICE = "Build the bundle again, or copy it again from where it was built."


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
