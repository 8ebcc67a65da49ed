"""Folders of bundles, and the bundle that speaks by default."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

BUILT = Path("artifacts/cpu")
"""Bundle that `doit` builds, relative to the repository."""
PACKAGED = "bundles"
"""Folder of this package into which the wheel of a bundle puts the bundle."""


def default_bundle() -> Path:
    """Return the bundle built in this repository, installed with this package, or pulled last, in this order.

    If there is none, return the first: `read_bundle` says what to do about a missing bundle.
    """
    if BUILT.is_dir():
        return BUILT
    if installed := sorted((Path(__file__).parents[1] / PACKAGED).glob("*/bundle.json")):
        return installed[0].parent
    with suppress(RuntimeError):  # a user without a home directory has pulled nothing into it
        pulled = locate_pulled_bundles().glob("*/bundle.json")
        return max(pulled, key=lambda path: path.stat().st_mtime_ns, default=BUILT / "bundle.json").parent
    return BUILT


def locate_pulled_bundles() -> Path:
    """Return the folder of pulled bundles. Raises RuntimeError for a user without a home directory."""
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "kokoro-tvm" / "bundles"
