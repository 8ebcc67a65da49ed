"""Which bundle speaks where none is named."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BUILT", "PACKAGED", "default_bundle"]

BUILT = Path("artifacts/cpu")
"""What `doit` builds, seen from the repository."""
PACKAGED = "bundles"
"""The folder of this package that a wheel of a bundle puts it into."""


def default_bundle() -> Path:
    """The bundle that this repository built, else the one that was installed with this package.

    Where there is neither, the former, which `read_bundle` refuses with what to do.
    """
    if BUILT.is_dir():
        return BUILT
    installed = sorted((Path(__file__).parent / PACKAGED).glob("*/bundle.json"))
    return installed[0].parent if installed else BUILT
