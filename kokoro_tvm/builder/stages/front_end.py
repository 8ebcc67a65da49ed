"""Stage `front_end`: fetch tagger, lexicon and written forms of the text front end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.used import hash_code
from kokoro_tvm.builder.engine.versions import versions
from kokoro_tvm.builder.stages.base import Place, log
from kokoro_tvm.model.front_end.yields import CONVERTERS, FACTS, FILES, pinned_digests
from kokoro_tvm.recipe.front_end import FrontEndSpec


def declare(place: Place, front_end: FrontEndSpec, root: Path) -> Stage:
    """Declare the stage. `root`: the folder of relative paths of `file` sources."""
    # The key is made of the fetched files and of the code that converts them: every source of the same
    # files gives the same key.
    return place.stage(
        "front_end",
        folder=place.artifacts / "front_end" / place.name,
        work=place.work,
        doc="fetch tagger, lexicon and written forms of the text front end",
        outputs=FILES,
        settings=lambda: {"front_end": front_end.model_dump(mode="json"), "root": str(root)},
        yields=(pinned_digests(front_end),),
        conversion=lambda one: hash_code(CONVERTERS, FACTS),
        facts=lambda: {"versions": versions("numpy", "srsly")},
    )


def run(out: Path, inputs: Inputs, *, front_end: dict[str, Any], root: str) -> None:
    """Fetch the front end's data, and convert it."""
    from kokoro_tvm.model.front_end.fetch import fetch

    fetch(FrontEndSpec.model_validate(front_end, strict=False), out, root=Path(root), log=log)
