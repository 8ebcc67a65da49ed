"""What a run used of this package, as parts of its derivation: digests of `code` and `files`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from kokoro_tvm.builder.engine.code import (
    all_code,
    executed_code,
    folder_of_package,
    path_of,
    source_stamps,
)
from kokoro_tvm.builder.engine.memory import learned, stamps
from kokoro_tvm.builder.engine.trace import CodeTrace

__all__ = ["Sources", "all_of", "distinct_uses", "everything", "used", "used_again"]

_MISSING = "missing"
_CODE = ".py"


def used(trace: CodeTrace) -> dict[str, Any]:
    """Digest what a run used, as it is now. Raises BuildError for code that cannot be parsed."""
    return {"code": executed_code(trace.executed, trace.imported), "files": _files(trace.files)}


def all_of(names: Iterable[str], files: Iterable[str] = ()) -> dict[str, Any]:
    """Digest functions ("module:name") with all that they may call, and files of this package: what has to be
    known before it runs."""
    return {"code": all_code(names), "files": _files(files)}


def used_again(derivation: Mapping[str, Any]) -> dict[str, Any]:
    """Digest what a past run used, as it is now; nothing of a stage that is made of what it yields. Raises as
    `used` does."""
    if "yields" in derivation:
        return {}
    return {"code": executed_code(derivation.get("code", ())), "files": _files(derivation.get("files", ()))}


def everything() -> dict[str, Any]:
    """Digest every source file: what a run may have used that left no trace."""
    sources = (path.relative_to(folder_of_package()).as_posix() for path in source_stamps())
    return {"code": {}, "files": _files(sources)}


def distinct_uses(derivations: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return those that differ in what was used, not in what that was."""
    distinct: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for derivation in derivations:
        distinct.setdefault((*derivation.get("code", ()), *derivation.get("files", ())), derivation)
    return list(distinct.values())


def _files(paths: Iterable[str]) -> dict[str, str]:
    return {path: _digest(path) for path in sorted(paths)}


def _digest(relative: str) -> str:
    """Digest a file's content or, of "folder:pattern", the names in a folder that match."""
    name, colon, pattern = relative.partition(":")
    path = folder_of_package() / name
    try:
        if not colon:
            return learned().sha256(path)
        names = sorted(match.relative_to(path).as_posix() for match in path.glob(pattern))
        return hashlib.sha256("\n".join(names).encode()).hexdigest()
    except OSError:
        return _MISSING


class Sources:
    """This package's sources before a stage runs; derivation: what it is expected to use."""

    def __init__(self, derivation: Mapping[str, Any]) -> None:
        self._known = derivation
        self._stamps = source_stamps()

    def changed(self, derivation: Mapping[str, Any]) -> list[str]:
        """What of a derivation was edited since, by name: of what was not known before, a file that was
        touched."""
        return [
            f"{part}.{name}"
            for part in ("code", "files")
            for name, digest in derivation.get(part, {}).items()
            if digest != self._known.get(part, {}).get(name) and self._is_touched(part, name)
        ]

    def _is_touched(self, part: str, name: str) -> bool:
        if part == "files" and not name.endswith(_CODE):
            return name in self._known.get(part, {})
        # Of a run that left no trace, files of code count.
        path = folder_of_package() / name if part == "files" else path_of(name.partition(":")[0])
        return path is not None and self._stamps.get(path) != stamps(path)
