"""Code for a machine uses the vectors it has and none that it has not; looked at, for it may not run here."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import torch
from lowering import RECIPE, lowered_program, program, small_program
from machines import machine_of
from torch.export import ExportedProgram

from kokoro_tvm import kernels as ops
from kokoro_tvm.compiler.codegen import generate_kernel, split_module
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.targets import Machine

RECIPES = Path(__file__).parents[1] / "recipes"
COMPONENT = "text_encoder"  # embedding, convolutions, layer norms and an LSTM, and quick to compile
FMA = r"\bvfn?m(?:add|sub)\d+p[sd]\b"
OTHER_ARM = pytest.mark.slow("compiles the same kernels for another ARM CPU")
OTHER_ARMS = [pytest.param(name, marks=OTHER_ARM) for name in ("neoverse-v1", "apple-m1")]
EVEX = r"%zmm|%k[0-7]\b|%[xy]mm(?:1[6-9]|2\d|3[01])\b"  # what only AVX-512 has


def of_recipe(name: str) -> Machine:
    recipe = load_recipe(name, RECIPES)
    target = recipe.target
    return machine_of(target.mcpu, target.mtriple, target.mattr, recipe.precision)


def generated(exported: ExportedProgram, component: str, machine: Machine) -> str:
    """AT&T or ARM assembly of a program."""
    module = lowered_program(exported, component, machine=machine).module
    kernels = split_module(module, machine, RECIPE["pass_context"]).kernels
    codes = (
        generate_kernel(name, kernel, machine, RECIPE["pass_context"]) for name, kernel in kernels.items()
    )
    return "\n".join(str(code.inspect_source("asm")) for code in codes)


@cache
def assembly(machine: Machine) -> str:
    """That of a toy component."""
    return generated(program(COMPONENT), COMPONENT, machine)


@cache
def convolutions(precision: str, *more: str) -> str:
    """That of a filtered convolution and a transposed one which tolerate rounding, for a CPU that can."""

    def forward(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        x = ops.conv1d(x, weights["widening"])
        x = ops.conv1d(x, weights["filtered"], padding=1, tolerant=True)
        return ops.conv_transpose1d(x, weights["upsampling"], stride=2, tolerant=True)

    weights = {"widening": (64, 4), "filtered": (64, 64, 3), "upsampling": (64, 64, 4)}
    machine = machine_of("x86-64-v4", "x86_64-linux-gnu", ("+avx512bf16", *more), precision)
    return generated(small_program(forward, weights), "small", machine)


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


def test_amx_multiplies_as_often_as_it_reads() -> None:
    """Four products of two tiles of rows and two of columns; two of one and two for the last rows."""
    text = convolutions("bfloat16", "+amx-tile", "+amx-bf16")
    assert 6 * count("tileloadd", text) == 7 * count("tdpbf16ps", text) > 0
    assert count("vdpbf16ps", text) == 0
    assert count("ldtilecfg", text) == count("tilerelease", text) > 0


def inner_loop(mcpu: str) -> list[str]:
    """Instructions of the innermost loop of a filtered convolution, for an ARM CPU."""

    def forward(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return ops.conv1d(ops.conv1d(x, weights["widening"]), weights["filtered"], padding=1, tolerant=True)

    weights = {"widening": (64, 4), "filtered": (64, 64, 3)}
    text = generated(
        small_program(forward, weights), "small", machine_of(mcpu, "aarch64-linux-gnu", ("-sve",))
    )
    loops = re.findall(r"^(\.L\w+):\n((?:\t[^.\n].*\n)+?\tb\.\w+\s+\1)$", text, re.MULTILINE)
    found = max((code for _, code in loops), key=lambda code: (code.count("fmla"), -len(code)))
    return str(found).splitlines()


@pytest.mark.parametrize("mcpu", ["cortex-a72", *OTHER_ARMS])
def test_arm_multiplies_by_lanes_of_what_it_read_as_vectors(mcpu: str) -> None:
    """Ten rows, two vectors of columns, four channels: what is spread is spread by the multiplication."""
    loop = inner_loop(mcpu)
    products = [line for line in loop if "fmla" in line]
    assert len(products) == 10 * 2 * 4
    assert all(re.search(r"v\d+\.s\[\d\]$", line) for line in products)
    assert not [line for line in loop if re.search(r"\t(?:dup|ld1r|ldr\ts)", line)], (
        "nothing is spread before"
    )
    assert not [line for line in loop if "[sp" in line], "the tile fits the registers"
    assert len(loop) < 1.3 * len(products)


@pytest.mark.parametrize("mcpu", ["generic", pytest.param("cortex-a72", marks=OTHER_ARM)])
def test_arm_multiplies_four_lanes(mcpu: str) -> None:
    text = assembly(machine_of(mcpu, "aarch64-linux-gnu", ()))
    assert count(r"\bfmla\s+v\d+\.4s", text) > 100
    assert count(r"\bz\d+\.s\b", text) == 0, "no scalable vectors"


def test_bfloat16_multiplies_pairs() -> None:
    """Every multiply-add of the two convolutions that tolerate it, from registers; 24 sums are a tile."""
    text = convolutions("bfloat16")
    products = re.findall(r"\bvdpbf16ps\s.*", text)
    assert len(products) >= 2 * 24
    assert all("%zmm" in line for line in products)
    assert count(r"\bvcvtne2ps2bf16\b.*%zmm", text) > 0, "operands are rounded by the CPU"


def test_float32_rounds_nothing() -> None:
    """Although the CPU could."""
    text = convolutions("float32")
    assert count(rf"{FMA}.*%zmm", text) >= 2 * 24
    assert count("bf16", text) == 0


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_filtered_convolution_fetches_ahead(precision: str) -> None:
    """Each of the steps that a row adds; they lie a row of channels apart."""
    assert count(r"\bprefetcht0\b", convolutions(precision)) >= 4
