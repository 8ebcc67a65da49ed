"""Run an exported program in PyTorch, operation by operation, and record values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from kokoro_tvm.tools.lab.stock_engine import to_tensor

Array = NDArray[Any]


def run_eager(
    program: ExportedProgram,
    weights: Mapping[str, Array],
    inputs: Sequence[Array],
    nodes: Sequence[str],
    dtype: torch.dtype,
) -> dict[str, Array]:
    """Compute the values of nodes, by name.

    Args:
        program: The program.
        weights: Weights by name, float32.
        inputs: Inputs in the program's order.
        nodes: Names of the nodes.
        dtype: float32 or float64, for everything but integers.
    """
    remaining = iter(inputs)
    arguments = [
        to_tensor(weights[str(spec.target)] if spec.kind is InputKind.PARAMETER else next(remaining), dtype)
        for spec in program.graph_signature.input_specs
    ]
    recorder = _Recorder(program, frozenset(nodes), dtype)
    with torch.no_grad():
        recorder.run(*arguments)
    return recorder.values


class _Recorder(torch.fx.Interpreter):
    """Interpreter that frees every value after its last use, except the recorded ones."""

    def __init__(self, program: ExportedProgram, nodes: frozenset[str], dtype: torch.dtype) -> None:
        super().__init__(program.graph_module)
        self._nodes, self._dtype = nodes, dtype
        self.values: dict[str, Array] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        """Run a node, and keep a copy of its value if it is recorded."""
        result = super().run_node(n)
        if n.name in self._nodes:
            self.values[n.name] = np.array(result.numpy(), order="C", copy=True)
        return result

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function, with float32 replaced by the dtype of the run."""
        if kwargs.get("dtype") is torch.float32:  # constants that the graph creates
            kwargs = {**kwargs, "dtype": self._dtype}
        return super().call_function(target, args, kwargs)
