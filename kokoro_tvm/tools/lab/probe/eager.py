"""Runs an exported program in PyTorch, operation by operation, and keeps the values that are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

__all__ = ["run_eager"]

Array = NDArray[Any]


def run_eager(
    program: ExportedProgram,
    weights: Mapping[str, Array],
    inputs: Sequence[Array],
    wanted: Sequence[str],
    dtype: torch.dtype,
) -> dict[str, Array]:
    """The values of the nodes `wanted`, by name, computed in `dtype`: float32 or float64.

    weights: by name, float32; inputs: the program's own, in its order. Whole numbers stay what they are.
    """
    given = iter(inputs)
    arguments = [
        _tensor(weights[str(spec.target)] if spec.kind is InputKind.PARAMETER else next(given), dtype)
        for spec in program.graph_signature.input_specs
    ]
    reader = _Recorder(program, frozenset(wanted), dtype)
    with torch.no_grad():
        reader.run(*arguments)
    return reader.seen


class _Recorder(torch.fx.Interpreter):
    """Forgets every value after its last use, except those that are wanted."""

    def __init__(self, program: ExportedProgram, wanted: frozenset[str], dtype: torch.dtype) -> None:
        super().__init__(program.graph_module)
        self._wanted, self._dtype = wanted, dtype
        self.seen: dict[str, Array] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        result = super().run_node(n)
        if n.name in self._wanted:
            self.seen[n.name] = np.array(result.numpy(), order="C", copy=True)
        return result

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs.get("dtype") is torch.float32:  # what the graph makes anew is made in float32
            kwargs = {**kwargs, "dtype": self._dtype}
        return super().call_function(target, args, kwargs)


def _tensor(array: Array, dtype: torch.dtype) -> torch.Tensor:
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.to(dtype) if tensor.is_floating_point() else tensor
