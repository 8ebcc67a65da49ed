"""Which bundle speaks where none is named."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["BUILT", "PACKAGED", "default_bundle", "pulled_bundles"]

BUILT = Path("artifacts/cpu")
"""What `doit` builds, seen from the repository."""
PACKAGED = "bundles"
"""The folder of this package that a wheel of a bundle puts it into."""


def default_bundle() -> Path:
    """The bundle that this repository built, else the one that was installed with this package, else the one
    that was pulled last.

    Where there is none, the first, which `read_bundle` refuses with what to do.
    """
    if BUILT.is_dir():
        return BUILT
    if installed := sorted((Path(__file__).parents[1] / PACKAGED).glob("*/bundle.json")):
        return installed[0].parent
    with suppress(RuntimeError):  # a user without a home has pulled nothing into it
        pulled = pulled_bundles().glob("*/bundle.json")
        return max(pulled, key=lambda path: path.stat().st_mtime_ns, default=BUILT / "bundle.json").parent
    return BUILT


def pulled_bundles() -> Path:
    """The folder of the bundles that this user pulled. Raises RuntimeError for a user without a home."""
    given = os.environ.get("XDG_DATA_HOME")
    return (Path(given) if given else Path.home() / ".local" / "share") / "kokoro-tvm" / "bundles"
