"""A JSON object read key by key; an error names the place, the expected type and the one found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from kokoro_tvm.common.errors import BundleError

T = TypeVar("T")


class ManifestNode:
    """One JSON object of a manifest with its place (`bundle.json: components.bert`)."""

    def __init__(self, value: Any, place: str) -> None:
        """Wrap `value`; raises BundleError when it is not a JSON object."""
        if not isinstance(value, dict):
            raise BundleError(f"{place} should be a JSON object but is {_kind(value)}. {_MEND}")
        self._value: dict[str, Any] = value
        self.place = place

    def get(self, key: str, kind: type[T]) -> T:
        """Value of `key`, which must be of `kind` (bool does not count as int); raises BundleError."""
        if key not in self._value:
            raise BundleError(f"{self.place} lacks '{key}'. {_MEND}")
        value = self._value[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise BundleError(
                f"{self.place}: '{key}' should be {kind.__name__} but is {_kind(value)} ({value!r}). {_MEND}"
            )
        return value

    def has(self, key: str) -> bool:
        """Whether `key` is there and not null."""
        return self._value.get(key) is not None

    def number(self, key: str) -> float:
        """Number under `key`, whole or not; raises BundleError."""
        whole = isinstance(self._value.get(key), int)
        try:
            return float(self.get(key, int if whole else float))
        except OverflowError as error:
            raise BundleError(f"{self.place}: '{key}' is too large. {_MEND}") from error

    def child(self, key: str) -> ManifestNode:
        """Object under `key`."""
        return ManifestNode(self.get(key, dict), f"{self.place}: {key}")

    def children(self, key: str) -> Iterator[ManifestNode]:
        """Objects of the list under `key`, in order."""
        for index, value in enumerate(self.get(key, list)):
            yield ManifestNode(value, f"{self.place}: {key}[{index}]")

    def names(self) -> tuple[str, ...]:
        """Keys in the order of the file."""
        return tuple(self._value)


_MEND = "Build the bundle again, or copy it again from where it was built."


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
