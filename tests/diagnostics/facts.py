"""Machines that are made up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kokoro_tvm.diagnostics.machine import Facts, Language, Pin, RecipeNeeds

__all__ = ["GOOD", "made"]

GOOD = Facts(
    python="3.11.7",
    wanted_python=">=3.11,<3.14",
    pins=(
        Pin("torch==2.13.0", "2.13.0"),
        Pin("misaki[en]==0.9.4", "0.9.4"),
        Pin("onnxruntime==1.31.1", "1.31.1", "lab"),
    ),
    compiler="TVM 0.27.0 with LLVM 22",
    compiler_problem=None,
    linker="g++ (Debian) 12.2.0",
    linker_problem=None,
    machine="A processor (family 26, model 2)",
    cores=2,
    features=frozenset({"avx2", "fma", "avx512f", "popcnt"}),
    languages=(
        Language("American English", "the front end of the bundle"),
        Language("Spanish", "espeak-ng"),
        Language("French", "espeak-ng"),
    ),
    recipes=(RecipeNeeds("cpu", ("avx2", "fma")),),
    memory=15_500_000_000,
    artifacts=Path("artifacts"),
    artifacts_problem=None,
    disk=65_000_000_000,
    cache="",
    cache_problem=None,
    checkpoints={"kokoro-82m": None},
)


def made(**other: Any) -> Facts:
    """A good machine, but for something."""
    return replace(GOOD, **other)
