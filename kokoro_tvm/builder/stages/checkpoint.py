"""Stage `checkpoint`: fetch weights, voices and configuration from the first source that answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.used import hash_code
from kokoro_tvm.builder.engine.versions import TORCH, versions
from kokoro_tvm.builder.stages.base import COMPILER, Place, log
from kokoro_tvm.model.yields import list_converters, yields
from kokoro_tvm.recipe import Checkpoint

_READERS = ("onnx", "protobuf", "safetensors")  # packages that read the fetched files


def declare(place: Place, checkpoint: Checkpoint, root: Path) -> Stage:
    """Declare the stage. `root`: the folder of relative paths of `file` sources."""
    # The key is made of the fetched files and of the code that converts them: every source of the same
    # bytes gives the same key.
    return place.stage(
        "checkpoint",
        folder=place.artifacts / "checkpoint" / place.name,
        work=place.work,
        doc="fetch weights, voices and configuration",
        outputs=("weights.safetensors", "voices.safetensors", "config.json", "checkpoint.json"),
        settings=lambda: {"checkpoint": checkpoint.model_dump(mode="json"), "root": str(root)},
        yields=yields(checkpoint),
        conversion=lambda one: hash_code(list_converters(one)),
        facts=lambda: {"versions": versions(*TORCH, *_READERS)},
        preload=COMPILER,
    )


def run(out: Path, inputs: Inputs, *, checkpoint: dict[str, Any], root: str) -> None:
    """Fetch the checkpoint, and convert it."""
    from kokoro_tvm.model.checkpoint import fetch

    fetch(Checkpoint.model_validate(checkpoint, strict=False), out, root=Path(root), log=log)
