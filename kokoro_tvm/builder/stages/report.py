"""report.html: a page about the bundle, how it was built and what it says."""

from __future__ import annotations

import os
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
    files_of,
    log,
    read_json,
    references_of,
    runner_libraries,
    threads,
)
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import find_runner, target_kind

if TYPE_CHECKING:
    from kokoro_tvm.targets.runners import Runner
    from kokoro_tvm.validation.report import SpokenUtterance

__all__ = ["declare", "run"]

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
    """runner: the group of that name, see `kokoro_tvm.builder.stages.base`; stages: all that the page tells
    of, which is every other stage of the recipe."""

    def built() -> list[dict[str, Any]]:
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
            **files_of("bundle", bundle),
            **references_of(recipe, reference),
            **{f"validations/{artifact}": made for artifact, made in validations.items()},
            "speech": (speech, "speech.json"),
            "machine": (machine, "machine.json"),
            **runner,
        },
        parameters={"target": recipe.target.model_dump(mode="json")},
        settings=lambda: {
            "stages": built(),
            "logs": [os.path.relpath(stage.log_path, place.bundle) for stage in stages],
        },
        facts=lambda: {
            "stages": built(),
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
    stages: list[dict[str, Any]],
    logs: list[str],
) -> None:
    """Synthesizes every utterance once more, for the page."""
    from kokoro_tvm.targets import Machine
    from kokoro_tvm.validation.report import BuiltStage, BundleFacts, write_page

    runner, reason = find_runner(target)
    spoken: list[SpokenUtterance] = []
    longer: list[str] = []
    if runner is None:
        log(f"nothing is synthesized: {reason}")
    else:
        spoken, longer = _speak(runner, inputs)
    folder = inputs.folder("bundle")
    built = [
        BuiltStage(**stage, log=log_file if (folder / log_file).is_file() else "")
        for stage, log_file in zip(stages, logs, strict=True)
    ]
    facts = BundleFacts(
        manifest=read_json(inputs["bundle/bundle.json"]),
        reports=[read_json(path) for path in inputs.group("validations").values()],
        speech=read_json(inputs["speech"]),
        utterances=spoken,
        longer=longer,
        stages=built,
        machine={
            **target_kind(target["kind"]).show(Machine.from_json(read_json(inputs["machine"]))),
            "gates": f"run by {runner.version()}" if runner else f"not run: {reason}",
        },
    )
    log(f"{write_page(facts, out / 'report.html').stat().st_size:,} bytes")


def _speak(runner: Runner, inputs: Inputs) -> tuple[list[SpokenUtterance], list[str]]:
    """What the bundle says of the utterances that fit it, and the names of the others."""
    from kokoro_tvm.runtime import TooLongError, read_bundle
    from kokoro_tvm.validation.measure.engine import TvmEngine, run_chain
    from kokoro_tvm.validation.reference.reference import load_reference
    from kokoro_tvm.validation.report import SpokenUtterance

    engine = TvmEngine(
        runner.session(read_bundle(inputs.folder("bundle")), threads(), runner_libraries(inputs))
    )
    spoken: list[SpokenUtterance] = []
    longer: list[str] = []
    for path in inputs.group("references").values():
        reference = load_reference(path)
        log(f"saying {reference.name}")
        try:
            found = run_chain(engine, reference).values
        except TooLongError as error:
            log(f"{reference.name}: {error}")
            longer.append(reference.name)
            continue
        spoken.append(SpokenUtterance(reference, found["audio"], found["f0"], found["pred_dur"]))
    return spoken, longer
