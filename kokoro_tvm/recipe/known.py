"""The patches and passes there are: the files of their folders, listed without importing any."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Known"]


@dataclass(frozen=True, slots=True)
class Known:
    """Names a recipe may use: `patches` and `passes`, each a file stem of the folder of that name."""

    patches: frozenset[str]
    passes: frozenset[str]

    @classmethod
    def of_package(cls, package: Path | None = None) -> Known:
        """What lies in `package`, the folder of kokoro_tvm unless another is given."""
        package = Path(__file__).parents[1] if package is None else package
        return cls(patches=_stems(package / "patches"), passes=_stems(package / "passes"))


def _stems(folder: Path) -> frozenset[str]:
    return frozenset(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
