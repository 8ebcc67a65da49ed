"""Libraries with GPU kernels: code that launches them, and their text beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from compiler.passes.on_gpu import GPU
from lowering import RECIPE, lowered_program, small_program

from kokoro_tvm import kernels as ops
from kokoro_tvm.builder.engine.parts import Parts
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.library import compile_module
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.runtime.bundle.device_code import DeviceCode
from kokoro_tvm.targets import KERNELS


def test_gpu_library_merges_float16_and_float32_kernels(tmp_path: Path) -> None:
    """Expect TVM's preamble for float16 once, for all kernels."""

    def forward(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        x = ops.conv1d(x, w["a"], padding=1)
        return ops.conv1d(x, w["b"], padding=1, tolerant=True)

    machine = replace(GPU, features=replace(GPU.features, precision="float16"))
    program = small_program(forward, {"a": (8, 4, 3), "b": (8, 8, 3)})
    lowered = lowered_program(program, "decoder", machine=machine)
    out = compile_module(lowered.module, machine, GNU, tmp_path / "decoder.so", RECIPE["pass_context"])
    code = DeviceCode.from_bytes("cuda", out.with_suffix(KERNELS).read_bytes())
    assert sorted(code.functions) == ["decoder_conv1d_0_kernel", "decoder_conv1d_1_kernel"]
    assert code.source.count("__pack_half2(") == 1


def module(dilation: int = 1) -> Any:
    def forward(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        x = ops.conv1d(x, w["a"], padding=1)
        return ops.conv1d(x, w["b"], padding=dilation, dilation=dilation)

    weights = {"a": (8, 4, 3), "b": (8, 8, 3)}
    return lowered_program(small_program(forward, weights), "decoder", machine=GPU).module


def test_gpu_library_regenerates_changed_kernel_only(tmp_path: Path) -> None:
    """Compare text and launching code from the store with those of a full generation."""
    lines: list[str] = []

    def compiled(name: str, lowered: Any, kept: bool = True) -> tuple[bytes, bytes]:
        objects = Parts(Store(tmp_path / "store"), {}) if kept else None
        folder = tmp_path / name
        folder.mkdir()
        out = compile_module(
            lowered, GPU, GNU, folder / "decoder.so", RECIPE["pass_context"], objects, 1, lines.append
        )
        text = out.with_suffix(KERNELS)
        assert sorted(folder.iterdir()) == sorted([out, text])
        return out.read_bytes(), text.read_bytes()

    first, again, other = module(), module(), module(dilation=2)
    generated = compiled("first", first)
    assert compiled("again", again) == generated == compiled("without", again, kept=False)
    changed = compiled("other", other)
    assert changed[1] != generated[1]
    assert sorted(DeviceCode.from_bytes("cuda", changed[1]).functions) == [
        "decoder_conv1d_0_kernel",
        "decoder_conv1d_1_kernel",
    ]
    counts = [line.partition(", ")[2] for line in lines]
    kernels = int(lines[0].split()[0])
    everything = f"{kernels} to generate"
    assert counts == [everything, "0 to generate", everything, "1 to generate"]
