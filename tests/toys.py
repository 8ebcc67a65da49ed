"""A Kokoro small enough to build in seconds: its recipes, and what is done with it. See test_tiny.py."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kokoro_tvm import Synthesizer
from kokoro_tvm.runtime import Speech, SpeechWarning

REPOSITORY = Path(__file__).parents[1]
TARGET = {"model": "toy-model", "target": {"kind": "llvm", "mcpu": "native"}}
RECIPES = {
    "toy": {"length": "exact", "buckets": {"tokens": [64], "frames": [130]}},
    "masked": {"length": "masked", "buckets": {"tokens": [16, 32], "frames": [64, 72]}},
    "padded": {"length": "padded", "buckets": {"tokens": [16], "frames": [64]}},
}
# Rounded values cost random weights more than they cost Kokoro's.
ROUNDED = {
    part: {"min_snr_db": 30, "min_gain_db": None}
    | {"min_frame_snr_median_db": 20, "min_frame_snr_p5_db": 10}
    | {"min_first_frame_snr_db": None, "min_last_frame_snr_db": 10}
    | {"min_exact_frame_snr_median_db": 20, "min_exact_frame_snr_p5_db": 10}
    for part in ("decoder", "speech")
}
SHORT = "həl."  # for kernels of GPUs that a CPU executes, which takes minutes for a word
PHONEMES = "həlˈO wˈɜɹld."  # 15 tokens and, by these weights, about 50 frames: not the length of any bucket


def toy_model(phonemes: str = PHONEMES) -> dict[str, Any]:
    """The shipped model recipe, made small. phonemes: what its gates are run on."""
    model = yaml.safe_load((REPOSITORY / "recipes" / "kokoro-82m.yaml").read_text(encoding="utf-8"))
    model["checkpoint"]["sources"] = [{"kind": "synthetic", "seed": 0, "size": "toy"}]
    model["gates"] = model.pop("gate_sets")["strict-float32"]
    del model["front_end"], model["gates"]["phonemes"]
    del model["gates"]["throughput"]  # the arithmetic that is counted is Kokoro's
    model["utterances"] = [{"name": "hello", "phonemes": phonemes, "voice": "am_adam"}]
    # What random weights say is nearer to noise than speech is; all other gates are asked in full.
    for part in ("decoder", "speech"):
        model["gates"][part]["min_magnitude_correlation"] = 0.999
    # One phase of many that a rounding error turns costs 60 dB.
    model["gates"]["decoder"] |= {"min_snr_db": 30, "min_frame_snr_median_db": 40}
    model["gates"]["decoder"] |= {"min_frame_snr_p5_db": 20}
    for part in ("decoder", "speech"):  # random weights are loud in the first frame, whose phases are dust
        model["gates"][part] |= {"min_first_frame_snr_db": None, "min_last_frame_snr_db": 20}
    model["gates"]["decoder"] |= {"min_exact_frame_snr_median_db": 60, "min_gain_db": 10}
    model["gates"]["speech"] |= {"min_snr_db": 20, "min_frame_snr_p5_db": 5}
    model["gates"]["speech"]["min_gain_db"] = 5
    # PyTorch float32 has 117 dB of f0n here, 132 dB on Kokoro.
    for part, least in {"bert": 90, "duration": 110, "text_encoder": 110, "f0n": 110}.items():
        names = ("min_snr_db", "min_frame_snr_median_db", "min_frame_snr_p5_db")
        model["gates"][part] = dict(zip(names, (least, least, least - 20), strict=True))
    return model


def doit(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "doit", *words], cwd=root, capture_output=True, text=True, check=False
    )


def write_recipes(root: Path) -> None:
    """A repository of the toy's recipes."""
    (root / "recipes").mkdir(parents=True)
    shutil.copy(REPOSITORY / "dodo.py", root)
    recipes = {"toy-model": toy_model()} | {name: TARGET | recipe for name, recipe in RECIPES.items()}
    for name, recipe in recipes.items():
        text = yaml.safe_dump(recipe, allow_unicode=True)
        (root / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")


def copy_repository(source: Path, target: Path) -> Path:
    """With the hard links of the original: bundles of one model share the files of the store."""
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
    return target


def speak(bundle: Path) -> Speech:
    with pytest.warns(SpeechWarning, match="random"):
        return Synthesizer(bundle).from_phonemes(PHONEMES, voice="af_heart")
