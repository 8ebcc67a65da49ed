"""What an installation that only speaks has: the packages of the base, and nothing else."""

from __future__ import annotations

from importlib.metadata import files as files_of
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

__all__ = ["link_base"]

_BASE = ("numpy", "apache-tvm-ffi", "typer", "markdown-it-py")


def link_base(folder: Path) -> Path:
    """A folder of packages: those of the base and all that they need, as they are installed here."""
    folder.mkdir()
    for name in _needed(*_BASE):
        content = {path.parts[0]: path for path in files_of(name) or () if path.parts[0] != ".."}
        for top, path in content.items():
            (folder / top).symlink_to(Path(str(path.locate())).parents[len(path.parts) - 1] / top)
    return folder


def _needed(*names: str) -> set[str]:
    """These distributions and all that they need, without extras."""
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            requirements = map(Requirement, requires(name) or ())
            waiting += [r.name for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})]
    return found
