"""Inputs of a stage, and the check that it opens no other file of the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import BuildError

_MAPS = Path("/proc/self/maps")


class Inputs(Mapping[str, Path]):
    """Paths of a stage's inputs, by name. A slash in a name makes groups: `references/hello`."""

    def __init__(self, files: Mapping[str, tuple[str, str]]) -> None:
        """Create the mapping. files: path and SHA-256 of each input."""
        self._paths = {name: Path(path) for name, (path, _) in files.items()}
        self._digests = {name: sha256 for name, (_, sha256) in files.items()}

    def __getitem__(self, name: str) -> Path:
        return self._paths[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def sha256(self, name: str) -> str:
        """Return the digest of an input."""
        return self._digests[name]

    def group(self, name: str) -> dict[str, Path]:
        """Return the members of a group, in the order of their declaration."""
        prefix = f"{name}/"
        return {key.removeprefix(prefix): path for key, path in self._paths.items() if key.startswith(prefix)}

    def folder(self, name: str) -> Path:
        """Return the folder of all members of a group. Raises ValueError if there are several."""
        (folder,) = {path.parent for path in self.group(name).values()}
        return folder


@contextmanager
def allow_only(root: Path, inputs: Inputs, *folders: Path) -> Iterator[None]:
    """Refuse, within the block, that this process opens files below `root` but inputs and those in `folders`.

    A forbidden open raises BuildError at once, and again at the end, in case it was caught. Files that
    libraries map without Python's `open` are found at the end, if they are still mapped (Linux only).
    """
    base = os.path.realpath(root) + os.sep
    declared = {os.path.realpath(path) for path in inputs.values()}
    below = tuple(os.path.realpath(folder) + os.sep for folder in folders)
    refused: list[BuildError] = []
    is_active = True

    def check(path: str) -> None:
        """Record and raise BuildError for a path below `root` that is not declared."""
        if path.startswith(base) and path not in declared and not path.startswith(below):
            message = f"it opened {path}, which is none of its inputs; declare it in the stage's `inputs`."
            refused.append(BuildError(message))
            raise refused[0]

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        """Audit hook: check each path that is opened, or loaded as a library."""
        opens = is_active and event in ("open", "ctypes.dlopen")
        if opens and isinstance(arguments[0], str | bytes | os.PathLike):  # else a descriptor, or None
            check(os.path.realpath(os.fsdecode(arguments[0])))

    sys.addaudithook(audit)  # a hook cannot be removed, so `is_active` disables it
    try:
        yield
        if _MAPS.is_file():
            for line in _MAPS.read_text(encoding="utf-8", errors="replace").splitlines():
                _, slash, path = line.partition("/")
                check(slash + path.removesuffix(" (deleted)"))
    finally:
        is_active = False
    if refused:
        raise refused[0]
