"""Digests of the code and files of this package that a run used, as parts of its derivation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from kokoro_tvm.builder.engine.code import (
    folder_of_package,
    hash_all_code,
    hash_executed_code,
    path_of,
    source_stamps,
)
from kokoro_tvm.builder.engine.memory import process_memory, stamps
from kokoro_tvm.builder.engine.trace import CodeTrace

_MISSING = "missing"


def hash_used(trace: CodeTrace) -> dict[str, Any]:
    """Return current digests of what a run used. Raises BuildError for code that cannot be parsed."""
    return {"code": hash_executed_code(trace.executed, trace.imported), "files": _hash_files(trace.files)}


def rehash_used(derivation: Mapping[str, Any]) -> dict[str, Any]:
    """Return current digests of what a past run used; {} for a stage with `yields`. Raises as `hash_used`."""
    if "yields" in derivation:
        return {}
    return {
        "code": hash_executed_code(derivation.get("code", ())),
        "files": _hash_files(derivation.get("files", ())),
    }


def hash_code(names: Iterable[str], files: Iterable[str] = ()) -> dict[str, Any]:
    """Return digests of functions ("module:name"), all that they may call, and files of this package."""
    return {"code": hash_all_code(names), "files": _hash_files(files)}


def sources() -> dict[str, str]:
    """Return the digest of every source file of this package."""
    return _hash_files(path.relative_to(folder_of_package()).as_posix() for path in source_stamps())


def distinct_uses(derivations: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return derivations that name different code or files, whatever the digests are."""
    distinct: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for derivation in derivations:
        distinct.setdefault((*derivation.get("code", ()), *derivation.get("files", ())), derivation)
    return list(distinct.values())


def _hash_files(paths: Iterable[str]) -> dict[str, str]:
    """Return the digests of files and patterns."""
    return {path: _hash_file(path) for path in sorted(paths)}


def _hash_file(relative: str) -> str:
    """Return the digest of a file's content or, of "folder:pattern", of the names that match.

    `relative` is below the package. A file that cannot be read gives a constant.
    """
    name, colon, pattern = relative.partition(":")
    path = folder_of_package() / name
    try:
        if not colon:
            return process_memory().sha256(path)
        names = sorted(match.relative_to(path).as_posix() for match in path.glob(pattern))
        return hashlib.sha256("\n".join(names).encode()).hexdigest()
    except OSError:
        return _MISSING


class Sources:
    """This package's sources before a stage runs. derivation: what the stage is expected to use."""

    def __init__(self, derivation: Mapping[str, Any]) -> None:
        self._expected = derivation
        self._stamps = source_stamps()

    def changed(self, derivation: Mapping[str, Any]) -> list[str]:
        """Return the names of what a run used that was edited meanwhile.

        If the run was not expected to use it, a file that was touched counts as edited.
        """
        return [
            f"{part}.{name}"
            for part in ("code", "files")
            for name, digest in derivation.get(part, {}).items()
            if digest != self._expected.get(part, {}).get(name) and self._is_touched(part, name)
        ]

    def _is_touched(self, part: str, name: str) -> bool:
        """Return whether a file, or the module of a function, may have been written since the start."""
        if part == "files":
            return name in self._expected.get(part, {})
        path = path_of(name.partition(":")[0])
        return path is not None and self._stamps.get(path) != stamps(path)
