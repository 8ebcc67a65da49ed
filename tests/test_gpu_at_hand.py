"""A few lines of a model on whatever GPU is at hand, by the runtime's own way to one; and on a stand-in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gpus_at_hand
import numpy as np
import pytest
import torch
import tvm_ffi
from kernels.on_gpu import AS_CPP, GPUS
from lowering import MACHINE, RECIPE, lowered_program, small_program

from kokoro_tvm import kernels as ops
from kokoro_tvm.builder.library import compile_module
from kokoro_tvm.common.errors import BuildError, BundleError
from kokoro_tvm.native.toolchains import nvrtc
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.runtime.bundle.device_code import DeviceCode
from kokoro_tvm.runtime.session.device import DeviceTensor, Gpu
from kokoro_tvm.targets import KERNELS, target_kind
from kokoro_tvm.targets.runners.source.device import SourceDevice
from kokoro_tvm.targets.runners.wgpu import WGPU

SHAPES = {"a": (8, 4, 3), "b": (8, 8, 3)}


def forward(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    y = ops.conv1d(x, w["a"], padding=1, tolerant=True)
    return ops.conv1d(y, w["b"], padding=2, dilation=2, residual=y, gain=0.5, tolerant=True)


def at_hand(kind: str) -> Gpu:
    """This machine's GPU of a kind; skips, and says why, where there is none."""
    try:
        return Gpu(kind)
    except BundleError as error:
        pytest.skip(f"not run: {error}")


DEVICES: dict[str, tuple[str, Callable[[str], Gpu]]] = {
    "stand-in": ("cuda", SourceDevice),
    "cuda": ("cuda", at_hand),
    "metal": ("metal", at_hand),
}


@AS_CPP
@pytest.mark.gpu
@pytest.mark.parametrize("name", DEVICES)
def test_what_one_component_computes_stays_for_the_next(name: str, tmp_path: Path) -> None:
    """Two runs, the second of which is given the first one's result where it lies."""
    kind, opened = DEVICES[name]
    device = opened(kind)
    run, weights = compiled(kind, device, tmp_path)
    x = np.random.default_rng(1).standard_normal((1, 9, 4)).astype(np.float32)
    tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
    want = forward(tensors, torch.from_numpy(x)).numpy()
    for factor in (1.0, 2.0):
        found = run(device.input("x", factor * x, x.size))
        assert isinstance(found, DeviceTensor)
        assert (found.shape, found.ndim, found.dtype) == ((1, 9, 8), 3, np.float32)
        np.testing.assert_allclose(np.asarray(found), factor * want, rtol=1e-4, atol=1e-5)
        part = found.valid(1, 5)
        assert part.shape == (1, 5, 8)
        assert (np.asarray(part) == np.asarray(found)[:, :5]).all()


def test_memory_of_an_input_is_allocated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the longest there may be; weights have memory of their own."""
    device = SourceDevice("cuda")
    shapes: list[tuple[int, ...]] = []
    allocate = device.allocate
    monkeypatch.setattr(
        device, "allocate", lambda shape, dtype: shapes.append(shape) or allocate(shape, dtype)
    )
    for steps in (3, 20, 7):
        array = np.arange(2.0 * steps, dtype=np.float32).reshape(2, steps)
        assert (device.array(device.input("x", array, 40)) == array).all()
    device.input("y", array, 14)
    device.tensor(array)
    assert shapes == [(40,), (14,), (2, 7)]


def test_a_tensor_of_a_gpu_is_read_by_a_copy() -> None:
    device = SourceDevice("cuda")
    found = device.output(device.tensor(np.arange(3)))
    assert np.asarray(found, np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(found, copy=False) if np.__version__ >= "2" else found.__array__(copy=False)


def compiled(kind: str, device: Gpu, folder: Path) -> tuple[Callable[[Any], Any], dict[str, np.ndarray]]:
    """What runs the lines on a device, and their weights."""
    machine = replace(
        GPUS[kind], options={**MACHINE.options, **({"arch": ["sm_80"]} if kind == "cuda" else {})}
    )
    lowered = lowered_program(small_program(forward, SHAPES), "decoder", machine=machine)
    out = compile_module(lowered.module, machine, GNU, folder / "decoder.so", RECIPE["pass_context"])
    code = DeviceCode.from_bytes(kind, out.with_suffix(KERNELS).read_bytes())
    if device.runs_machine_code and kind == "cuda":
        if (reason := nvrtc.check()) is not None:
            pytest.skip(reason)
        spec = target_kind(kind).spec.model_validate({"kind": kind, "host": {"kind": "llvm"}})
        code, _ = target_kind(kind).tools(spec).assemble(code)
    library = tvm_ffi.load_module(str(out))
    (instructions,) = library.imports
    instructions.import_module(device.load(code.to_bytes()))
    machine_ = library["vm_load_executable"]()
    machine_["vm_initialization"](*device.initialization)
    random = np.random.default_rng(0)
    weights, given = {}, []
    for parameter in lowered.parameters:
        name = parameter.name
        weights[name] = random.standard_normal(SHAPES[name]).astype(np.float32)
        packed = parameter.packing.pack(weights[name]) if parameter.packing else weights[name]
        given.append(device.tensor(packed))
    return lambda x: device.output(machine_["decoder_forward"](x, *given)[0]), weights


def test_the_summary_names_what_is_at_hand_and_why_the_rest_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_vulkan() -> str:
        raise BuildError("no Vulkan driver")

    monkeypatch.setattr(WGPU, "version", without_vulkan)
    result = gpus_at_hand.found()
    assert result["WebGPU"] == "not run: no Vulkan driver."
    for kind, name in (("cuda", "CUDA's GPU"), ("metal", "Metal's GPU")):
        try:
            Gpu(kind)
        except BundleError as error:
            assert result[name] == f"not run: {error}"
        else:
            assert not result[name].startswith("not run")


@pytest.mark.parametrize(
    ("expression", "is_wanted"),
    [
        *((expression, True) for expression in ("gpu", "gpu and not nightly", "nightly or gpu")),
        *((expression, False) for expression in ("not nightly", "not gpu", "nightly", "")),
    ],
)
def test_only_who_asks_for_gpus_is_told(expression: str, is_wanted: bool) -> None:
    assert gpus_at_hand.wanted(expression) == is_wanted
