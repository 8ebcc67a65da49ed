"""What a speech recogniser understands of the bundle and of the stock model; only where a recipe has a gate
for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import TORCH, installed, versions
from kokoro_tvm.builder.stages.base import Place, files_of, gates_on, log, threads
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.recipe import Gates, Recipe

__all__ = ["declare", "run"]

_SENTENCES = Path(__file__).parents[2] / "validation" / "measure" / "harvard.json"
_RECOGNISER = "moonshine-voice"


def declare(place: Place, recipe: Recipe, bundle: Stage, checkpoint: Stage) -> Stage:
    return place.stage(
        "intelligibility",
        doc="compare what a speech recogniser understands of the bundle and of the stock model",
        outputs=("intelligibility.json",),
        inputs={
            **files_of("bundle", bundle, without="provenance.json"),
            **files_of("checkpoint", checkpoint),
        },
        settings=lambda: {"gates": recipe.gates.model_dump(mode="json")},
        facts=lambda: {
            "gates": gates_on(recipe, "intelligibility"),
            "sentences": file_sha256(_SENTENCES),
            "recogniser": {_RECOGNISER: installed(_RECOGNISER)},
            "versions": versions(*TORCH),
        },
    )


def run(out: Path, inputs: Inputs, *, gates: dict[str, Any]) -> None:
    """Writes the report. Raises ValidationError where the gate is missed, or no recogniser is installed."""
    from kokoro_tvm.model.kokoro import load_config, load_state
    from kokoro_tvm.validation.measure.gates import limits_of, write_report
    from kokoro_tvm.validation.measure.intelligibility import validate_intelligibility
    from kokoro_tvm.validation.measure.listening import listen
    from kokoro_tvm.validation.measure.recogniser import open_recogniser

    judged, recogniser = Gates.model_validate(gates, strict=False), open_recogniser()
    checkpoint = inputs.folder("checkpoint")
    model = load_config(checkpoint), load_state(checkpoint)
    heard = listen(inputs.folder("bundle"), *model, recogniser, threads=threads(), progress=log)
    report = validate_intelligibility(heard, limits_of(judged, "intelligibility"), judged.enforce)
    write_report(report, out / "intelligibility.json")
    report.require()
