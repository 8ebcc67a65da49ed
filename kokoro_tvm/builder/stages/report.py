"""Stage `report`: write report.html, a page about the bundle and its build."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import TVM, versions
from kokoro_tvm.builder.stages.base import (
    Files,
    Place,
    judged_references,
    log,
    output_group,
    read_json,
    runner_libraries,
    threads,
)
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import find_runner, target_kind

if TYPE_CHECKING:
    from kokoro_tvm.targets.runners import Runner
    from kokoro_tvm.validation.report import SpokenUtterance

_TEMPLATE = Path(__file__).parents[2] / "validation" / "report" / "templates" / "report.html.jinja"


def declare(
    place: Place,
    recipe: Recipe,
    bundle: Stage,
    reference: Stage,
    speech: Stage,
    machine: Stage,
    validations: Files,
    runner: Files,
    stages: Sequence[Stage],
) -> Stage:
    """Declare the stage.

    Args:
        place: Folders.
        recipe: The recipe.
        bundle: Stage of the bundle.
        reference: Stage of the references.
        speech: Stage that judges utterances.
        machine: Stage of the target.
        validations: Artifact -> its report.
        runner: The group of inputs `runner` (`kokoro_tvm.builder.stages.base`).
        stages: Every other stage of the recipe, which the page lists.
    """

    def describe_stages() -> list[dict[str, Any]]:
        """Return the stages' times and outputs for the page."""
        records = {stage.name: stage.record() for stage in stages}
        return [
            {
                "name": name,
                "seconds": record.seconds,
                "cpu_seconds": record.cpu_seconds,
                "outputs": [astuple(output) for output in record.outputs],
            }
            for name, record in records.items()
        ]

    return place.stage(
        "report",
        folder=place.bundle,
        work=place.work,
        doc=f"write artifacts/{recipe.name}/report.html",
        outputs=("report.html",),
        inputs={
            **output_group("bundle", bundle),
            **judged_references(recipe, reference),
            **{f"validations/{artifact}": file for artifact, file in validations.items()},
            "speech": (speech, "speech.json"),
            "machine": (machine, "machine.json"),
            **runner,
        },
        parameters={
            "target": recipe.target.model_dump(mode="json"),
            "texts": {utterance.name: utterance.text for utterance in recipe.utterances},
        },
        settings=lambda: {
            "stages": describe_stages(),
            "logs": [os.path.relpath(stage.log_path, place.bundle) for stage in stages],
        },
        facts=lambda: {
            "stages": describe_stages(),
            "template": file_sha256(_TEMPLATE),
            "versions": versions("numpy", *TVM, "jinja2", "soundfile"),
        },
        waits=tuple(stages),
    )


def run(
    out: Path,
    inputs: Inputs,
    *,
    target: dict[str, Any],
    texts: dict[str, str],
    stages: list[dict[str, Any]],
    logs: list[str],
) -> None:
    """Synthesize every utterance again, and write the page."""
    from kokoro_tvm.targets import Machine
    from kokoro_tvm.validation.report import BuiltStage, BundleFacts, write_page

    runner, reason = find_runner(target)
    utterances: list[SpokenUtterance] = []
    longer: list[str] = []
    if runner is None:
        log(f"nothing is synthesized: {reason}")
    else:
        utterances, longer = _synthesize_all(runner, inputs, texts)
    folder = inputs.folder("bundle")
    rows = [
        BuiltStage(**stage, log=log_file if (folder / log_file).is_file() else "")
        for stage, log_file in zip(stages, logs, strict=True)
    ]
    facts = BundleFacts(
        manifest=read_json(inputs["bundle/bundle.json"]),
        reports=[read_json(path) for path in inputs.group("validations").values()],
        speech=read_json(inputs["speech"]),
        utterances=utterances,
        longer=longer,
        stages=rows,
        machine={
            **target_kind(target["kind"]).show(Machine.from_json(read_json(inputs["machine"]))),
            "gates": f"run by {runner.version()}" if runner else f"not run: {reason}",
        },
    )
    log(f"{write_page(facts, out / 'report.html').stat().st_size:,} bytes")


def _synthesize_all(
    runner: Runner, inputs: Inputs, texts: dict[str, str]
) -> tuple[list[SpokenUtterance], list[str]]:
    """Synthesize the utterances that fit the bundle's buckets, and return the names of the others."""
    from kokoro_tvm.runtime import TooLongError, read_bundle
    from kokoro_tvm.targets.runners.local import LOCAL
    from kokoro_tvm.validation.measure.engine import TvmEngine, run_chain
    from kokoro_tvm.validation.reference.reference import load_reference
    from kokoro_tvm.validation.report import SpokenUtterance

    engine = TvmEngine(
        runner.session(read_bundle(inputs.folder("bundle")), threads(), runner_libraries(inputs))
    )
    utterances: list[SpokenUtterance] = []
    longer: list[str] = []
    for path in inputs.group("references").values():
        reference = load_reference(path)
        log(f"saying {reference.name}")
        try:
            values = run_chain(engine, reference).values
        except TooLongError as error:
            log(f"{reference.name}: {error}")
            longer.append(reference.name)
            continue
        seconds = None  # the time of emulated code says nothing
        if runner is LOCAL:
            started = time.perf_counter()
            run_chain(engine, reference)
            seconds = time.perf_counter() - started
        audio, f0, durations = values["audio"], values["f0"], values["pred_dur"]
        text = texts[reference.name]
        utterances.append(SpokenUtterance(reference, audio, f0, durations, text, seconds))
    return utterances, longer
