"""Stage `speech`: compare whole utterances of the bundle with those of the stock model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.stages.base import (
    Files,
    Place,
    gate_facts,
    judged_references,
    log,
    output_group,
    run_facts,
    runner_libraries,
    threads,
)
from kokoro_tvm.common.errors import BuildError, ValidationError
from kokoro_tvm.recipe import Gates, Recipe
from kokoro_tvm.targets import find_runner
from kokoro_tvm.targets.runners import open_synthesizer

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.targets.runners import Runner, Start
    from kokoro_tvm.targets.runners.program import ProgramOutput, SpeakProgram
    from kokoro_tvm.validation.reference.reference import Reference


def declare(place: Place, recipe: Recipe, bundle: Stage, reference: Stage, runner: Files) -> Stage:
    """Declare the stage. `runner`: the group of that name (`kokoro_tvm.builder.stages.base`)."""
    return place.stage(
        "speech",
        doc="compare what the bundle says with what the stock model says",
        outputs=("speech.json",),
        inputs={
            **output_group("bundle", bundle, without="provenance.json"),
            **judged_references(recipe, reference),
            **runner,
        },
        settings=lambda: {
            "target": recipe.target.model_dump(mode="json"),
            "gates": recipe.gates.model_dump(mode="json"),
        },
        facts=lambda: {"gates": gate_facts(recipe, "speech"), **run_facts(recipe)},
    )


def run(out: Path, inputs: Inputs, *, target: dict[str, Any], gates: dict[str, Any]) -> None:
    """Write the report about the utterances that fit the bundle's buckets.

    Raises:
        ValidationError: A gate is missed.
    """
    from dataclasses import replace

    from kokoro_tvm.runtime import Speech, TooLongError
    from kokoro_tvm.runtime.bundle.voices import style_of
    from kokoro_tvm.runtime.text.phonemes import encode
    from kokoro_tvm.targets.runners.local import LOCAL
    from kokoro_tvm.validation.measure.artifact import LONGER, report_not_run, validate_speech
    from kokoro_tvm.validation.measure.gates import UtteranceReport, write_report
    from kokoro_tvm.validation.measure.pieces import choose_texts, judge_text
    from kokoro_tvm.validation.measure.text_from_c import validate_text
    from kokoro_tvm.validation.reference.reference import load_reference

    judged = Gates.model_validate(gates, strict=False)
    references = [load_reference(path) for path in inputs.group("references").values()]
    runner, reason = find_runner(target)
    if runner is None:
        report = report_not_run("speech", references, judged, reason)
        write_report(report, out / "speech.json")
        if target["run"]:
            report.require()
        return
    tts = open_synthesizer(runner, inputs.folder("bundle"), threads(), runner_libraries(inputs))
    speeches: dict[str, Speech] = {}
    fitting, longer = [], []
    for reference in references:
        fits = all(reference.length(axis) <= tts.bundle.largest(axis) for axis in ("tokens", "frames"))
        try:
            if fits:
                log(f"saying {reference.name}")
                tokens = encode(reference.phonemes, tts.bundle.vocabulary)
                style = style_of(tts.voices.table(reference.voice), reference.phonemes)
                speeches[reference.name] = tts.run(tokens, style, speed=reference.speed, **reference.source())
        except TooLongError as error:
            if judged.enforce:
                raise ValidationError(
                    f"{reference.name} is spoken longer than by the stock model: {error}"
                ) from error
            fits = False
        if fits:
            fitting.append(reference)
        else:
            longer.append(UtteranceReport(reference.name, reference.frames, reason=LONGER))
    program = _open_program(runner, tts.bundle, runner_libraries(inputs))
    from_c = partial(_speak, program) if program else None
    report = validate_speech(lambda r: speeches[r.name], fitting, judged, from_c=from_c)
    if program:
        log("reading text from C")
        read = validate_text(tts, program, decode=target["emulate"] is None)
        report = replace(report, overall=(*report.overall, *read))
    texts = []
    for text in choose_texts(fitting):
        # The code that divides and joins is the same on every machine, and emulators are slow.
        if runner is LOCAL:
            log(f"saying a {text.name}")
            texts.append(judge_text(tts, text))
        else:
            reason = f"{runner.version()} runs the code, not this machine itself"
            texts.append(UtteranceReport(text.name, text.frames, reason=reason))
    report = replace(report, utterances=(*report.utterances, *texts, *longer), runner=runner.version())
    write_report(report, out / "speech.json")
    report.require()


def _open_program(runner: Runner, bundle: Bundle, libraries: Sequence[Path]) -> SpeakProgram | None:
    """Return the program `speak`, or None if the bundle has none.

    Args:
        runner: Runs the program.
        bundle: The bundle.
        libraries: Libraries of the TVM runtime that the runner needs.
    """
    if not bundle.libkokoro:
        return None
    from kokoro_tvm.targets.runners.program import SpeakProgram

    def start(program: Path) -> Start:
        """Return how the runner starts the program. Raises BuildError if it cannot."""
        process = runner.start(program, libraries)
        if process is None:
            raise BuildError(
                f"{runner.version()} runs no programs: leave `runtime: {{c: true}}` out of the recipe"
            )
        return process

    return SpeakProgram(bundle.root, [file.path for file in bundle.libkokoro], start, threads())


def _speak(program: SpeakProgram, reference: Reference) -> ProgramOutput:
    """Synthesize a reference by the C program."""
    log(f"saying {reference.name} from C")
    noise = reference.noise()[0] if reference.piece else None
    about = reference.tokens[0], reference.voice, reference.speed
    return program.speak(*about, seed=reference.seed, noise=noise)
