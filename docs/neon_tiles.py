"""Prints what a convolution's inner loop costs on ARM cores, tile by tile: the table of docs/targets.md.

    .venv/bin/python docs/neon_tiles.py

Nothing is run. The kernel of a residual block (128 channels, 3 taps) is compiled for every core, and LLVM's
machine code analyser (Debian: `apt-get install llvm-19`) reckons, with its model of the core, how many cycles
an iteration of the innermost loop takes.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from unittest import mock

import kokoro_tvm.ops  # noqa: F401  (registers the operations)
from kokoro_tvm.compiler.codegen import generate
from kokoro_tvm.ops.base.semantic import Call, registry
from kokoro_tvm.ops.cpu.conv_plan import Plan
from kokoro_tvm.targets import Machine, resolve
from kokoro_tvm.targets.llvm import LlvmTarget

# Core, and the core whose model is taken: LLVM has none of the Cortex-A76, the Neoverse N1 is that core for
# servers. Of the Cortex-A72 it takes the Cortex-A57's, of the M1 Cyclone's.
CORES = {
    "cortex-a72": "cortex-a72",
    "cortex-a76": "neoverse-n1",
    "neoverse-v1": "neoverse-v1",
    "apple-m1": "apple-m1",
}
# Rows, vectors, and whether values are read as vectors; else each is read by itself and spread.
TILES = ((12, 2, False), (12, 2, True), (11, 2, True), (10, 2, True), (8, 2, True), (5, 4, True))
ANALYSER = "llvm-mca-19"
OPTIONS = {"opt_level": 3, "disabled_passes": [], "config": {}}
CONVOLUTION = {
    "stride": 1,
    "padding": 1,
    "dilation": 1,
    "slope": 1.0,
    "gain": 1.0,
    "tolerant": True,
    "repeat": 1,
}


def machine_for(core: str) -> Machine:
    return resolve(LlvmTarget(kind="llvm", mcpu=core, mtriple="aarch64-linux-gnu", mattr=("-sve",)))


def inner_loop(machine: Machine, rows: int, vectors: int, by_lane: bool) -> list[str]:
    """Instructions of the loop that has most multiply-adds."""
    shapes = {"x": (1, "x_1", 128), "weight": (128, 128, 3), "bias": (128,)}
    call = Call(shapes, CONVOLUTION, (1, "y_1", 128), replace(machine.features, by_lane=by_lane))
    with mock.patch.multiple(Plan, rows=rows, vectors=vectors):
        kernel = registry()["conv1d"].kernel(call)
    text = str(generate("conv1d", kernel, machine, OPTIONS).inspect_source("asm"))
    blocks = re.findall(r"^(\.L\w+):\n((?:\t[^.\n].*\n)+?\tb\.\w+\s+\1)$", text, re.MULTILINE)
    found: str = max((code for _, code in blocks), key=lambda code: code.count("fmla"))
    return found.splitlines()


def reckoned(core: str, loop: list[str]) -> float:
    """Cycles an iteration."""
    command = [ANALYSER, "-mtriple=aarch64-linux-gnu", f"-mcpu={CORES[core]}", "-iterations=1000", "-"]
    code = ".Lloop:\n" + re.sub(r"\.LBB\w+", ".Lloop", "\n".join(loop))
    said = subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout
    found = re.search(r"^Total Cycles: +(\d+)$", said, re.MULTILINE)
    assert found is not None, said
    return int(found[1]) / 1000


def main() -> None:
    print("| tile | values are read | instructions | on the stack | " + " | ".join(CORES) + " |")
    print("|---|---|---|---|" + "---|" * len(CORES))
    for rows, vectors, by_lane in TILES:
        cells, counts = [], []
        for core in CORES:
            loop = inner_loop(machine_for(core), rows, vectors, by_lane)
            products = sum("fmla" in line for line in loop)
            counts.append((len(loop) / products, sum("[sp" in line for line in loop)))
            cells.append(f"{products / reckoned(core, loop):.2f}")
        most, spilt = (max(each) for each in zip(*counts, strict=True))
        how = "four at once" if by_lane else "one by one"
        print(f"| {rows} x {vectors} | {how} | {most:.2f} | {spilt} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
