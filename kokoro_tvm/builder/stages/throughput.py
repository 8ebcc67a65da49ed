"""Stage `throughput`: measure the decoder's share of a core's peak, if the recipe has a gate for it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.stages.base import (
    COMPILER,
    Files,
    Place,
    call_parameters,
    gate_facts,
    log,
    read_json,
    run_facts,
    run_settings,
)
from kokoro_tvm.recipe import Gates, Recipe
from kokoro_tvm.targets import find_runner


def declare(place: Place, recipe: Recipe, parts: Files, reference: Stage) -> Stage:
    """Declare the stage. `parts`: of a decoder, see `kokoro_tvm.builder.stages.manifest`."""
    return place.stage(
        "throughput",
        doc="measure the decoder's share of what a core can do",
        outputs=("throughput.json",),
        inputs={**parts, "reference": (reference, f"{recipe.judged[0]}.safetensors")},
        parameters={"recipe": call_parameters(recipe)},
        settings=lambda: {"gates": recipe.gates.model_dump(mode="json"), **run_settings(recipe)},
        facts=lambda: {"gates": gate_facts(recipe, "throughput"), **run_facts(recipe)},
        preload=COMPILER,
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
    """Write the report. The time of emulated code means nothing, so its report says "not run".

    Raises:
        ValidationError: The gate is missed.
    """
    from dataclasses import replace

    from kokoro_tvm.builder.stages.manifest import open_loose_bundle
    from kokoro_tvm.targets import Machine
    from kokoro_tvm.targets.runners.local import LOCAL
    from kokoro_tvm.validation.measure.artifact import report_not_run
    from kokoro_tvm.validation.measure.flops import component_flops
    from kokoro_tvm.validation.measure.gates import Report, UtteranceReport, judge, limits_of, write_report
    from kokoro_tvm.validation.measure.peak import peak_share
    from kokoro_tvm.validation.reference.reference import load_reference

    bundle = open_loose_bundle(inputs, names | recipe)
    reference, judged = load_reference(inputs["reference"]), Gates.model_validate(gates, strict=False)
    runner, reason = find_runner(target)
    if runner is not LOCAL:
        reason = reason if runner is None else f"it runs {runner.way or 'on a GPU'} here"
        log(f"not run: {reason}")
        write_report(report_not_run("throughput", [reference], judged, reason), out / "throughput.json")
        return
    entry, frames = bundle.entry("decoder"), reference.length("frames")
    values = reference.inputs("decoder")
    arrays = [values[port.name] for port in entry.inputs if port.name != "length"]
    compute = partial(runner.session(bundle, 1).run, "decoder", frames, *arrays)
    machine = Machine.from_json(read_json(inputs["machine"]))
    share = peak_share(compute, component_flops("decoder", 0, frames), machine)
    measured = {"peak_share": share}
    verdicts = judge(measured, limits_of(judged, "throughput"), "decoder")
    utterance = UtteranceReport(
        reference.name, frames, outputs={"decoder": measured}, verdicts=tuple(verdicts)
    )
    report = Report("throughput", None, judged.enforce, (utterance,))
    write_report(replace(report, runner=runner.version()), out / "throughput.json")
    report.require()
