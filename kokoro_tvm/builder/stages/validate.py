"""Stage `validate`: compare an artifact with the stock model, and judge it by the recipe's gates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.stages.base import (
    Files,
    Place,
    call_parameters,
    gate_facts,
    judged_references,
    run_facts,
    run_settings,
    runner_libraries,
    threads,
)
from kokoro_tvm.recipe import ArtifactSpec, Gates, Recipe
from kokoro_tvm.targets import find_runner


def declare(place: Place, recipe: Recipe, spec: ArtifactSpec, parts: Files, reference: Stage) -> Stage:
    """Declare the stage.

    Args:
        place: Folders.
        recipe: The recipe.
        spec: The artifact.
        parts: Parts of a bundle of this artifact (`kokoro_tvm.builder.stages.manifest`), and `runner`.
        reference: Stage of the references.
    """
    return place.stage(
        "validate",
        spec.id,
        doc=f"compare {spec.id} with the stock model",
        outputs=("validation.json",),
        inputs={**parts, **judged_references(recipe, reference)},
        parameters={"recipe": call_parameters(recipe)},
        settings=lambda: {"gates": recipe.gates.model_dump(mode="json"), **run_settings(recipe)},
        facts=lambda: {"gates": gate_facts(recipe, spec.component), **run_facts(recipe)},
    )


def run(
    out: Path,
    inputs: Inputs,
    *,
    recipe: dict[str, str],
    target: dict[str, Any],
    gates: dict[str, Any],
    names: dict[str, str],
) -> None:
    """Write the report.

    Raises:
        ValidationError: A gate is missed, or nothing here runs code that has to be run.
    """
    from dataclasses import replace
    from functools import partial

    import numpy as np

    from kokoro_tvm.builder.stages.manifest import open_loose_bundle
    from kokoro_tvm.validation.measure.artifact import report_not_run, validate_component
    from kokoro_tvm.validation.measure.gates import write_report
    from kokoro_tvm.validation.reference.reference import load_reference

    bundle = open_loose_bundle(inputs, names | recipe)
    (component,) = bundle.components.values()
    references = [load_reference(path) for path in inputs.group("references").values()]
    judged, bucket = Gates.model_validate(gates, strict=False), component.buckets[0]
    runner, reason = find_runner(target)
    if runner is None:
        report = report_not_run(
            component.name, references, judged, reason, bucket=bucket, axis=component.axis
        )
    else:
        session = runner.session(bundle, threads(), runner_libraries(inputs))

        def call(entry: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            """Run an entry of the component on arrays by name; return its outputs by name."""
            ports = [port for port in bundle.entry(entry).inputs if port.name != "length"]
            valid = arrays[ports[0].name].shape[-1]
            outputs = session.run(entry, valid, *(arrays[port.name] for port in ports))
            return {p.name: np.array(o) for p, o in zip(component.outputs, outputs, strict=True)}

        plain = partial(call, component.name)
        seeded = None if component.seeded is None else partial(call, f"{component.name}_seeded")
        report = validate_component(component.name, plain, references, judged, bucket=bucket, seeded=seeded)
        report = replace(report, runner=runner.version())
    write_report(report, out / "validation.json")
    if target["run"]:
        report.require()
