"""Code for a machine uses the vectors it has and none that it has not; looked at, for it may not run here."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from lowering import lowered_program, program

from kokoro_tvm.compile import generate
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.target import Machine, resolve

RECIPES = Path(__file__).parents[1] / "recipes"
COMPONENT = "text_encoder"  # embedding, convolutions, layer norms and an LSTM, and quick to compile
FMA = r"\bvfn?m(?:add|sub)\d+p[sd]\b"
EVEX = r"%zmm|%k[0-7]\b|%[xy]mm(?:1[6-9]|2\d|3[01])\b"  # what only AVX-512 has


def of_recipe(name: str) -> Machine:
    recipe = load_recipe(name, RECIPES)
    target = recipe.target
    return resolve(target.mcpu, target.mtriple, target.mattr, recipe.precision)


@cache
def assembly(machine: Machine) -> str:
    """AT&T or ARM assembly of a toy component."""
    module = lowered_program(program(COMPONENT), COMPONENT, machine=machine).module
    (library,) = generate(module, machine).mod.imports
    return str(library.inspect_source("asm"))


def count(pattern: str, text: str) -> int:
    return len(re.findall(pattern, text))


def test_x86_64_v3_multiplies_eight_lanes_and_knows_no_avx512() -> None:
    text = assembly(of_recipe("x86-64-v3"))
    assert count(rf"{FMA}.*%ymm", text) > 100
    assert count(EVEX, text) == 0


def test_x86_64_v4_multiplies_sixteen_lanes() -> None:
    """LLVM prefers eight for this CPU's name."""
    text = assembly(of_recipe("x86-64-v4"))
    assert count(rf"{FMA}.*%zmm", text) > 100
    assert count(rf"{FMA}.*%ymm", text) == 0


@pytest.mark.parametrize("mcpu", ["generic", "cortex-a72"])
def test_arm_multiplies_four_lanes(mcpu: str) -> None:
    text = assembly(resolve(mcpu, "aarch64-linux-gnu", ()))
    assert count(r"\bfmla\s+v\d+\.4s", text) > 100
    assert count(r"\bz\d+\.s\b", text) == 0, "no scalable vectors"
