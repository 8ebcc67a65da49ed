"""Stage `golden`: compute an utterance that a page computes again and compares, before it speaks.

Bundles for browsers have it, because a GPU or its driver may compute wrong values.
"""

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
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import find_runner


def declare(place: Place, recipe: Recipe, parts: Files) -> Stage:
    """Declare the stage. The utterance is the model's shortest.

    Args:
        place: Folders.
        recipe: The recipe.
        parts: Parts of a bundle (`kokoro_tvm.builder.stages.manifest`) and the group `runner`.
    """
    shortest = min(recipe.utterances, key=lambda utterance: len(utterance.phonemes))
    return place.stage(
        "golden",
        doc="compute the word that pages compare with",
        outputs=("golden.safetensors",),
        inputs=parts,
        parameters={
            "phonemes": shortest.phonemes,
            "voice": shortest.voice,
            "recipe": call_parameters(recipe),
        },
        settings=lambda: run_settings(recipe),
        facts=lambda: run_facts(recipe),
    )


def run(
    out: Path,
    inputs: Inputs,
    *,
    phonemes: str,
    voice: str,
    recipe: dict[str, str],
    target: dict[str, Any],
    names: dict[str, str],
) -> None:
    """Write tokens, style and audio for seed 0 and speed 1, which `kokoro_tvm/web/runtime/golden.js` reads.

    Tokens are (T,) uint8 with a 0 at both ends, style is (256,) and audio (samples,) float32.
    """
    import numpy as np
    from safetensors.numpy import save_file

    from kokoro_tvm.builder.stages.manifest import open_loose_bundle
    from kokoro_tvm.runtime.bundle.voices import Voices, style_of
    from kokoro_tvm.runtime.text.phonemes import encode
    from kokoro_tvm.targets.runners import open_parts

    runner, reason = find_runner(target)
    assert runner is not None, reason  # else there is no such stage
    bundle = open_loose_bundle(inputs, names | recipe)
    tokens = np.array(encode(phonemes, bundle.vocabulary), np.uint8)
    style = np.array(style_of(Voices.open(bundle).table(voice), phonemes), np.float32).reshape(-1)
    tts = open_parts(runner, bundle, threads(), runner_libraries(inputs))
    speech = tts.run(tokens.astype(np.int64), style)
    save_file({"tokens": tokens, "style": style, "audio": speech.audio}, out / "golden.safetensors")
