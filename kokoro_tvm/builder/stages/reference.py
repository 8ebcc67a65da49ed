"""What the stock model makes of the recipe's utterances, in float64 and float32."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import TORCH, versions
from kokoro_tvm.builder.stages.base import COMPILER, Place, files_of, log
from kokoro_tvm.recipe import UtteranceSpec

__all__ = ["declare", "run"]


_PATIENCE = 10  # of 19


def declare(place: Place, utterances: tuple[UtteranceSpec, ...], checkpoint: Stage) -> Stage:
    folder = place.artifacts / "reference" / place.name
    return place.stage(
        "reference",
        folder=folder,
        work=place.work,
        doc="run the stock model in float64 and float32 on the utterances",
        outputs=tuple(f"{utterance.name}.safetensors" for utterance in utterances),
        inputs=files_of("checkpoint", checkpoint),
        parameters={"utterances": [utterance.model_dump(mode="json") for utterance in utterances]},
        facts=lambda: {"versions": versions(*TORCH)},
        cache=folder,
        preload=COMPILER,
    )


def run(
    out: Path, inputs: Inputs, *, utterances: list[dict[str, Any]], cache: Path, again: bool = False
) -> None:
    """Compute what `cache` lacks, or everything `again`.

    It gives way to whatever else runs: hello.wav does not wait for it.
    """
    os.nice(_PATIENCE)
    from kokoro_tvm.builder.reference_store import ReferenceStore
    from kokoro_tvm.validation.reference.reference import save_reference

    specs = [UtteranceSpec.model_validate(utterance, strict=False) for utterance in utterances]
    for reference in ReferenceStore(inputs.folder("checkpoint"), cache, log, again).references(specs):
        save_reference(reference, out / f"{reference.name}.safetensors")
