"""Kernels of a layer by any choice, compiled, run and compared with the definition."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
import tvm
import tvm_ffi

from kokoro_tvm.kernels.base.schedule import ConvChoice
from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.kernels.moments import slots
from kokoro_tvm.targets import Machine, tvm_target
from kokoro_tvm.targets.runners.tiles import use_amx
from kokoro_tvm.tools.lab.tuning.layers import TunedLayer

__all__ = ["CompiledTrial", "prepared"]

_COMPARED = 700  # time steps the error is taken over
_SWEPT = 128 << 20  # bytes


class CompiledTrial:
    """A layer by a choice."""

    def __init__(self, layer: TunedLayer, choice: ConvChoice, machine: Machine) -> None:
        call = replace(layer.call, choice=choice)
        operation = registry()["conv1d"]
        function = operation.kernel(call)
        compiled = tvm.compile(tvm.IRModule({"conv1d": function}), target=tvm_target(machine))
        self._kernel = compiled[function.attrs["global_symbol"]]
        self._pack = operation.packings(call)["weight"].pack
        self._layer = layer
        self._arrays = self._given(layer.steps)

    def _given(self, steps: int) -> list[Any]:
        """Arguments and results, weights packed, as the kernel takes them."""
        tensors = _tensors(self._layer, steps)
        arrays = [self._pack(t.numpy()) if name == "weight" else t.numpy() for name, t in tensors.items()]
        made = _result_steps(self._layer.call, steps)
        arrays.append(np.full((1, made, int(self._layer.call.result[2])), np.nan, np.float32))
        if self._layer.call.moments is not None:
            arrays.append(np.zeros((slots(made), *map(int, self._layer.call.moments[1:])), np.float32))
        return [tvm_ffi.from_dlpack(array) for array in arrays]

    @property
    def error(self) -> float:
        """See `search.ALLOWED_ERROR`; NaN where the kernel leaves results out."""
        call, steps = self._layer.call, min(self._layer.steps, _COMPARED)
        given = self._given(steps)
        self._kernel(*given)
        got = np.from_dlpack(given[len(call.shapes)]).astype(np.float64)
        want = _reference(self._layer, steps)
        return float(np.sqrt(np.mean((got - want) ** 2) / np.mean(want**2)))

    def seconds(self) -> float:
        """Of one call, as it is in speech: weights have left the caches since they were last read,
        activations have just been written."""
        _swept().sum()
        for name in ("x", "residual", "added"):
            if name in self._layer.call.shapes:
                _tensors(self._layer, self._layer.steps)[name].numpy().sum()
        start = time.perf_counter()
        self._kernel(*self._arrays)
        return time.perf_counter() - start


def prepared(machine: Machine) -> Any:
    """`prepare` of `search.search` for this machine."""
    if machine.features.tiles:
        use_amx()
    return lambda layer, choice: CompiledTrial(layer, choice, machine)


@cache
def _swept() -> np.ndarray:
    """More than the caches of a processor hold."""
    return np.ones(_SWEPT // 4, np.float32)


def _result_steps(call: OpCall, steps: int) -> int:
    """Of a convolution that reads `steps` time steps."""
    weight = call.shapes["weight"]
    taps = int(weight[2]) if len(weight) == 3 else 1
    return steps + 2 * int(call.attributes["padding"]) - int(call.attributes["dilation"]) * (taps - 1)


@cache
def _tensors(layer: TunedLayer, steps: int) -> dict[str, torch.Tensor]:
    """Normal values, weights so that results are about as large as what they are made of."""
    call, generator = layer.call, torch.Generator().manual_seed(1)
    made: dict[str, torch.Tensor] = {}
    for name, shape in call.shapes.items():
        length = steps
        if name in ("residual", "added"):
            length = _result_steps(call, steps) // (
                int(call.attributes["repeat"]) if name == "residual" else 1
            )
        value = torch.randn([length if isinstance(e, str) else e for e in shape], generator=generator)
        if name == "weight":
            value /= (value.numel() / value.shape[0]) ** 0.5
        made[name] = value.abs() + 0.1 if name == "alpha" else value
    return made


@cache
def _reference(layer: TunedLayer, steps: int) -> np.ndarray:
    """float64."""
    operation, tensors = registry()["conv1d"], _tensors(layer, steps)
    given = [tensors[name].double() if name in tensors else None for name in operation.tensors]
    result: np.ndarray = operation.torch(*given, **layer.call.attributes).numpy()
    return result
