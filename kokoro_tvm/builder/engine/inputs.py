"""The files a stage reads: declared by name, opened by no other way."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import BuildError

__all__ = ["Inputs", "only"]

_MAPS = Path("/proc/self/maps")


class Inputs(Mapping[str, Path]):
    """Paths of a stage's inputs by name. A name with a slash is a member of a group: `references/hello`."""

    def __init__(self, files: Mapping[str, tuple[str, str]]) -> None:
        """files: name -> (path, sha256)."""
        self._paths = {name: Path(path) for name, (path, _) in files.items()}
        self._digests = {name: sha256 for name, (_, sha256) in files.items()}

    def __getitem__(self, name: str) -> Path:
        return self._paths[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def sha256(self, name: str) -> str:
        """Digest of an input."""
        return self._digests[name]

    def group(self, name: str) -> dict[str, Path]:
        """The members of a group, in the order they were declared."""
        prefix = f"{name}/"
        return {key.removeprefix(prefix): path for key, path in self._paths.items() if key.startswith(prefix)}

    def folder(self, name: str) -> Path:
        """The folder that all members of a group lie in. Raises ValueError where they lie in several."""
        (folder,) = {path.parent for path in self.group(name).values()}
        return folder


@contextmanager
def only(root: Path, inputs: Inputs, *folders: Path) -> Iterator[None]:
    """While entered, this process opens no file below `root` but the inputs and what is in `folders`.

    Python's own opens raise BuildError at once, and at the end where that was caught. Libraries that map
    files without asking Python are found out at the end, by what of `root` is still mapped (on Linux).
    """
    base = os.path.realpath(root) + os.sep
    declared = {os.path.realpath(path) for path in inputs.values()}
    below = tuple(os.path.realpath(folder) + os.sep for folder in folders)
    refused: list[BuildError] = []
    entered = True

    def check(path: str) -> None:
        if path.startswith(base) and path not in declared and not path.startswith(below):
            message = f"it opened {path}, which is none of its inputs; declare it in the stage's `inputs`."
            refused.append(BuildError(message))
            raise refused[0]

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        opens = entered and event in ("open", "ctypes.dlopen")
        if opens and isinstance(arguments[0], str | bytes | os.PathLike):  # else a descriptor, or None
            check(os.path.realpath(os.fsdecode(arguments[0])))

    sys.addaudithook(audit)  # a hook cannot be removed, so `entered` switches it off
    try:
        yield
        if _MAPS.is_file():
            for line in _MAPS.read_text(encoding="utf-8", errors="replace").splitlines():
                _, slash, path = line.partition("/")
                check(slash + path.removesuffix(" (deleted)"))
    finally:
        entered = False
    if refused:
        raise refused[0]
