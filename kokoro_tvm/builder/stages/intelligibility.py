"""Stage `intelligibility`: compare word error rates of the bundle and the stock model, if there is a gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import TORCH, find_version, versions
from kokoro_tvm.builder.stages.base import Place, gate_facts, log, output_group, threads
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.recipe import Gates, Recipe

_SENTENCES = Path(__file__).parents[2] / "validation" / "measure" / "harvard.json"
_RECOGNISER = "moonshine-voice"


def declare(place: Place, recipe: Recipe, bundle: Stage, checkpoint: Stage) -> Stage:
    """Declare the stage."""
    return place.stage(
        "intelligibility",
        doc="compare what a speech recogniser understands of the bundle and of the stock model",
        outputs=("intelligibility.json",),
        inputs={
            **output_group("bundle", bundle, without="provenance.json"),
            **output_group("checkpoint", checkpoint),
        },
        settings=lambda: {"gates": recipe.gates.model_dump(mode="json")},
        facts=lambda: {
            "gates": gate_facts(recipe, "intelligibility"),
            "sentences": file_sha256(_SENTENCES),
            "recogniser": {_RECOGNISER: find_version(_RECOGNISER)},
            "versions": versions(*TORCH),
        },
    )


def run(out: Path, inputs: Inputs, *, gates: dict[str, Any]) -> None:
    """Write the report.

    Raises:
        ValidationError: The gate is missed, or no recogniser is installed.
    """
    from kokoro_tvm.model.kokoro import load_config, load_state
    from kokoro_tvm.validation.measure.gates import limits_of, write_report
    from kokoro_tvm.validation.measure.intelligibility import validate_intelligibility
    from kokoro_tvm.validation.measure.listening import listen
    from kokoro_tvm.validation.measure.recogniser import open_recogniser

    judged, recogniser = Gates.model_validate(gates, strict=False), open_recogniser()
    checkpoint = inputs.folder("checkpoint")
    model = load_config(checkpoint), load_state(checkpoint)
    transcripts = listen(inputs.folder("bundle"), *model, recogniser, threads=threads(), progress=log)
    report = validate_intelligibility(transcripts, limits_of(judged, "intelligibility"), judged.enforce)
    write_report(report, out / "intelligibility.json")
    report.require()
