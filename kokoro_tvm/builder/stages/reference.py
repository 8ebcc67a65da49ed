"""Stage `reference`: run the stock model on the recipe's utterances, in float64 and float32."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import TORCH, versions
from kokoro_tvm.builder.stages.base import COMPILER, Place, log, output_group
from kokoro_tvm.recipe import UtteranceSpec

_NICENESS = 10  # of 19: hello.wav does not wait for the references


def declare(place: Place, utterances: tuple[UtteranceSpec, ...], checkpoint: Stage) -> Stage:
    """Declare the stage."""
    folder = place.artifacts / "reference" / place.name
    return place.stage(
        "reference",
        folder=folder,
        work=place.work,
        doc="run the stock model in float64 and float32 on the utterances",
        outputs=tuple(f"{utterance.name}.safetensors" for utterance in utterances),
        inputs=output_group("checkpoint", checkpoint),
        parameters={"utterances": [u.model_dump(mode="json", exclude={"text"}) for u in utterances]},
        facts=lambda: {"versions": versions(*TORCH)},
        cache=folder,
        preload=COMPILER,
    )


def run(
    out: Path, inputs: Inputs, *, utterances: list[dict[str, Any]], cache: Path, again: bool = False
) -> None:
    """Write the references, at a low priority. Compute those that `cache` lacks, or all if `again`."""
    os.nice(_NICENESS)
    from kokoro_tvm.builder.reference_store import ReferenceStore
    from kokoro_tvm.validation.reference.reference import save_reference

    specs = [UtteranceSpec.model_validate(utterance, strict=False) for utterance in utterances]
    for reference in ReferenceStore(inputs.folder("checkpoint"), cache, log, again).references(specs):
        save_reference(reference, out / f"{reference.name}.safetensors")
