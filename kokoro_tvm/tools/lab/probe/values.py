"""Values that a component computes: their names, and how to select them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from kokoro_tvm.common.errors import InputError


@dataclass(frozen=True)
class Value:
    """One tensor of the graph.

    Attributes:
        node: Its name in the graph.
        module: Path of the module that computes it, as in the names of weights.
        operation: `conv1d`, `add`, ...
        extents: Shape, with expressions of the symbolic length.
        dtype: Name of the dtype.
        weights: Names of the weights that the operation reads.
    """

    node: str
    module: str
    operation: str
    extents: tuple[Any, ...]
    dtype: str
    weights: tuple[str, ...]

    @property
    def name(self) -> str:
        """`decoder.encode/conv1d_4`, or the node alone without a module."""
        return f"{self.module}/{self.node}" if self.module else self.node

    def shape(self, length: int) -> tuple[int, ...]:
        """Return the shape for a number of tokens or frames."""
        return tuple(_evaluate_extent(extent, length) for extent in self.extents)

    def shown_shape(self, symbol: str) -> str:
        """Format the shape with `symbol` as the length: `(1, 120*F + 1, 128)`."""
        shown = (re.sub(r"\bs\d+\b", symbol, str(extent)) for extent in self.extents)
        return f"({', '.join(shown)})"


def values_of(program: ExportedProgram, modules: dict[str, str]) -> list[Value]:
    """List every tensor that depends on an input, in the graph's order.

    Args:
        program: The program.
        modules: Path by node, see `modules_of`.
    """
    weights = {
        s.arg.name: str(s.target)
        for s in program.graph_signature.input_specs
        if s.kind is InputKind.PARAMETER
    }
    dependent: set[str] = set()
    values = []
    for node in program.graph.nodes:
        sources = [n.name for n in node.all_input_nodes]
        if node.op == "placeholder":
            if node.name not in weights:
                dependent.add(node.name)
            continue
        value = node.meta.get("val")
        if node.op != "call_function" or (sources and not dependent.intersection(sources)):
            continue
        dependent.add(node.name)
        if isinstance(value, torch.Tensor):
            values.append(
                Value(
                    node=node.name,
                    module=modules.get(node.name, ""),
                    operation=name_operation(node),
                    extents=tuple(int(e) if isinstance(e, int) else e.node.expr for e in value.shape),
                    dtype=str(value.dtype).removeprefix("torch."),
                    weights=tuple(weights[s] for s in sources if s in weights),
                )
            )
    return values


def modules_of(program: ExportedProgram) -> dict[str, str]:
    """Return the path of the innermost module that computes each node."""
    # Export records paths relative to the nearest called module, and slices of module lists as such. The
    # names of weights, which are whole paths, resolve both.
    paths = {""}
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.PARAMETER:
            parts = str(spec.target).split(".")
            paths |= {".".join(parts[:depth]) for depth in range(1, len(parts))}
    modules: dict[str, str] = {}
    for node in program.graph.nodes:
        stack = node.meta.get("nn_module_stack") or {}
        recorded = [str(path) for path, _ in stack.values()]
        modules[node.name] = _complete_path(recorded[-1], paths) if recorded else ""
    return modules


def select(values: Sequence[Value], patterns: Iterable[str]) -> list[Value]:
    """Select the values that match any pattern, in the graph's order.

    A pattern is a name (`decoder.encode/conv1d_4`, or the part after the slash) or a module
    (`decoder.encode`: its result), with or without wildcards.

    Raises:
        InputError: A pattern matches nothing.
    """
    results = _find_results(values)
    selected: set[Value] = set()
    for pattern in patterns:
        matches = {v for v in values if fnmatchcase(v.name, pattern) or fnmatchcase(v.node, pattern)}
        matches |= {v for module, v in results.items() if fnmatchcase(module, pattern)}
        if not matches:
            raise InputError(
                f"No value and no module of this component is called {pattern!r}. `--list` shows all of them "
                "(quote wildcards)."
            )
        selected |= matches
    return [v for v in values if v in selected]


def results_of_modules(values: Sequence[Value]) -> list[Value]:
    """Return the last value of every module that computes any itself, and the last value of all."""
    own = {v.module: v for v in values if v.module}
    chosen = {*own.values(), values[-1]}
    return [v for v in values if v in chosen]


def _find_results(values: Sequence[Value]) -> dict[str, Value]:
    """Return the last value that each module, or one below it, computes."""
    results: dict[str, Value] = {}
    for value in values:
        parts = value.module.split(".") if value.module else []
        for depth in range(1, len(parts) + 1):
            results[".".join(parts[:depth])] = value
    return results


_SLICE = re.compile(r"slice\((\d+), \d+, None\)\.(\d+)")


def _complete_path(path: str, paths: set[str]) -> str:
    """Complete a relative path if exactly one whole path ends with it."""
    path = _SLICE.sub(lambda m: str(int(m[1]) + int(m[2])), path)
    longer = [whole for whole in paths if whole.endswith(f".{path}")]
    return longer[0] if path not in paths and len(longer) == 1 else path


def name_operation(node: torch.fx.Node) -> str:
    """Return `conv1d` for kokoro.conv1d.default, `add` for aten.add.Tensor."""
    return str(node.target).split(".")[1]


def _evaluate_extent(extent: Any, length: int) -> int:
    """Return an extent for a number of tokens or frames."""
    return extent if isinstance(extent, int) else int(extent.subs(dict.fromkeys(extent.free_symbols, length)))
