"""The TVM runtime that a bundle brings, so that who speaks installs no compiler."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from kokoro_tvm.engine.inputs import Inputs
from kokoro_tvm.engine.memory import learned
from kokoro_tvm.engine.stage import Stage
from kokoro_tvm.engine.versions import TVM, versions
from kokoro_tvm.stages.base import Place

__all__ = ["declare", "run"]


def declare(place: Place, library: Path) -> Stage:
    """library: `libtvm_runtime` for the target."""
    return place.stage(
        "runtime",
        doc="copy the TVM runtime",
        outputs=(library.name,),
        settings=lambda: {"library": str(library)},
        facts=lambda: {
            "library": learned().recall(library, _sha256, "sha256"),
            "versions": versions(*TVM),
        },
    )


def run(out: Path, inputs: Inputs, *, library: str) -> None:
    shutil.copyfile(library, out / Path(library).name)


def _sha256(path: Path) -> Any:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()
