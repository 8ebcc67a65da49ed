"""What a run used of this package, as parts of its derivation: `code` and `files`, by digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from kokoro_tvm.engine.code import (
    all_code,
    executed_code,
    folder_of_package,
    functions_of,
    path_of,
    source_stamps,
)
from kokoro_tvm.engine.memory import learned, stamps
from kokoro_tvm.engine.trace import Trace

__all__ = ["Sources", "all_of", "distinct_uses", "used", "used_again"]

_MISSING = "missing"


def used(trace: Trace) -> dict[str, Any]:
    """What was used by a run, as it is now. Raises BuildError for code that cannot be parsed."""
    return {"code": executed_code(trace.executed, trace.imported), "files": _files(trace.files)}


def all_of(functions: Iterable[str], files: Iterable[str] = ()) -> dict[str, Any]:
    """The same of functions with all that they may call, and of files, for what has to be known before it
    runs. functions: "module:name"; files: paths in this package."""
    return {"code": all_code(functions), "files": _files(files)}


def used_again(derivation: Mapping[str, Any]) -> dict[str, Any]:
    """What a past run used, as it is now; nothing of a stage that is made of what it yields. Raises as `used`
    does."""
    if "yields" in derivation:
        return {}
    functions = functions_of(derivation.get("code", {}))
    return {"code": executed_code(functions), "files": _files(derivation.get("files", {}))}


def distinct_uses(derivations: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that differ in what was used, not in what that was."""
    found: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for derivation in derivations:
        names = (*functions_of(derivation.get("code", {})), *derivation.get("files", {}))
        found.setdefault(names, derivation)
    return list(found.values())


def _files(paths: Iterable[str]) -> dict[str, str]:
    return {path: _digest(path) for path in sorted(paths)}


def _digest(relative: str) -> str:
    """Of a file's content, or, with a slash at the end, of the names of the data in a folder."""
    path = folder_of_package() / relative
    try:
        if not relative.endswith("/"):
            return learned().sha256(path)
        names = sorted(each.name for each in path.iterdir() if each.suffix != ".py")
        return hashlib.sha256("\n".join(n for n in names if n != "__pycache__").encode()).hexdigest()
    except OSError:
        return _MISSING


class Sources:
    """This package's sources as they are before a stage runs; derivation: what it is taken to use."""

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
        if part == "files":
            return name in self._known.get(part, {})
        path = path_of(name.partition(":")[0])
        return path is not None and self._stamps.get(path) != stamps(path)
