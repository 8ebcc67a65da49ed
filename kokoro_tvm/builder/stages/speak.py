"""Stage `speak`: synthesize hello.wav with the compiled components, before any gate is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.stages.base import (
    Files,
    Place,
    call_parameters,
    run_facts,
    run_settings,
    runner_libraries,
    threads,
)
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import find_runner


def declare(place: Place, recipe: Recipe, parts: Files) -> Stage:
    """Declare the stage. It speaks the first utterance that the gates judge.

    Args:
        place: Folders.
        recipe: The recipe.
        parts: Parts of a bundle (`kokoro_tvm.builder.stages.manifest`) and the group `runner`.
    """
    utterance = recipe.utterance(recipe.judged[0])
    phrase = {"phonemes": utterance.phonemes, "voice": utterance.voice, "speed": utterance.speed}
    return place.stage(
        "speak",
        folder=place.bundle,
        work=place.work,
        doc=f"synthesize a test phrase to artifacts/{recipe.name}/hello.wav",
        outputs=("hello.wav",),
        inputs=parts,
        parameters={**phrase, "recipe": call_parameters(recipe)},
        settings=lambda: run_settings(recipe),
        facts=lambda: run_facts(recipe),
    )


def run(
    out: Path,
    inputs: Inputs,
    *,
    phonemes: str,
    voice: str,
    speed: float,
    recipe: dict[str, str],
    target: dict[str, Any],
    names: dict[str, str],
) -> None:
    """Write hello.wav.

    Raises:
        BuildError: Nothing here runs the code.
    """
    from kokoro_tvm.builder.stages.manifest import open_loose_bundle
    from kokoro_tvm.runtime import write_wav
    from kokoro_tvm.targets.runners import open_parts

    runner, reason = find_runner(target)
    if runner is None:
        raise BuildError(f"no hello.wav: {reason}")
    bundle = open_loose_bundle(inputs, names | recipe)
    tts = open_parts(runner, bundle, threads(), runner_libraries(inputs))
    speech = tts.from_phonemes(phonemes, voice=voice, speed=speed)
    write_wav(out / "hello.wav", speech.audio, speech.sample_rate)
