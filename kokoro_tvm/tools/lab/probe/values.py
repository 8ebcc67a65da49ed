"""The values a component computes on its way: what they are called, and how some are chosen by name."""

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

__all__ = ["Value", "modules_of", "results_of_modules", "select", "values_of"]


@dataclass(frozen=True)
class Value:
    """One tensor of the graph. node: its name there; module: path of the module that computes it, as in the
    names of weights; operation: `conv1d`, `add`, ...; weights: those it reads, by name."""

    node: str
    module: str
    operation: str
    extents: tuple[Any, ...]
    dtype: str
    weights: tuple[str, ...]

    @property
    def name(self) -> str:
        """`decoder.encode/conv1d_4`; just the node's where no module is named."""
        return f"{self.module}/{self.node}" if self.module else self.node

    def shape(self, length: int) -> tuple[int, ...]:
        """The shape for so many tokens or frames."""
        return tuple(_at(extent, length) for extent in self.extents)

    def shown_shape(self, symbol: str) -> str:
        """`(1, 120*F + 1, 128)`, the length called `symbol`."""
        shown = (re.sub(r"\bs\d+\b", symbol, str(extent)) for extent in self.extents)
        return f"({', '.join(shown)})"


def values_of(program: ExportedProgram, modules: dict[str, str]) -> list[Value]:
    """Every tensor that is computed from the inputs, in the graph's order.

    modules: node -> path, see `modules_of`. What is made of weights alone is left out: it is the same for any
    input, and views of weights are nothing that is computed.
    """
    weights = {
        s.arg.name: str(s.target)
        for s in program.graph_signature.input_specs
        if s.kind is InputKind.PARAMETER
    }
    moving: set[str] = set()
    found = []
    for node in program.graph.nodes:
        sources = [n.name for n in node.all_input_nodes]
        if node.op == "placeholder":
            if node.name not in weights:
                moving.add(node.name)
            continue
        value = node.meta.get("val")
        if node.op != "call_function" or (sources and not moving.intersection(sources)):
            continue
        moving.add(node.name)
        if isinstance(value, torch.Tensor):
            found.append(
                Value(
                    node=node.name,
                    module=modules.get(node.name, ""),
                    operation=_operation(node),
                    extents=tuple(_extent(e) for e in value.shape),
                    dtype=str(value.dtype).removeprefix("torch."),
                    weights=tuple(weights[s] for s in sources if s in weights),
                )
            )
    return found


def modules_of(program: ExportedProgram) -> dict[str, str]:
    """Node -> path of the innermost module whose code made it, from what export notes down.

    Export tells paths relative to the nearest module that was called as one, and those of slices by the
    slice. Both are put right by the names of the weights, which are whole paths.
    """
    known = {""}
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.PARAMETER:
            parts = str(spec.target).split(".")
            known |= {".".join(parts[:depth]) for depth in range(1, len(parts))}
    found: dict[str, str] = {}
    for node in program.graph.nodes:
        stack = node.meta.get("nn_module_stack") or {}
        shown = [str(path) for path, _ in stack.values()]
        found[node.name] = _whole(shown[-1], known) if shown else ""
    return found


def select(values: Sequence[Value], patterns: Iterable[str]) -> list[Value]:
    """The values that any pattern means, in the graph's order.

    A pattern is a name (`decoder.encode/conv1d_4`, or the part behind the slash), or a module
    (`decoder.encode`: its result), or either with wildcards. Raises InputError for one that means nothing.
    """
    results = _results(values)
    chosen: set[Value] = set()
    for pattern in patterns:
        met = {v for v in values if fnmatchcase(v.name, pattern) or fnmatchcase(v.node, pattern)}
        met |= {v for module, v in results.items() if fnmatchcase(module, pattern)}
        if not met:
            raise InputError(
                f"No value and no module of this component is called {pattern!r}. `--list` shows all of them "
                "(quote wildcards)."
            )
        chosen |= met
    return [v for v in values if v in chosen]


def results_of_modules(values: Sequence[Value]) -> list[Value]:
    """What every module that computes something itself gives in the end, and the last value of all."""
    own = {v.module: v for v in values if v.module}
    chosen = {*own.values(), values[-1]}
    return [v for v in values if v in chosen]


def _results(values: Sequence[Value]) -> dict[str, Value]:
    """Module -> the last value computed in it or below it."""
    results: dict[str, Value] = {}
    for value in values:
        parts = value.module.split(".") if value.module else []
        for depth in range(1, len(parts) + 1):
            results[".".join(parts[:depth])] = value
    return results


_SLICE = re.compile(r"slice\((\d+), \d+, None\)\.(\d+)")


def _whole(shown: str, known: set[str]) -> str:
    shown = _SLICE.sub(lambda m: str(int(m[1]) + int(m[2])), shown)
    if shown in known:
        return shown
    longer = [path for path in known if path.endswith(f".{shown}")]
    return longer[0] if len(longer) == 1 else shown


def _operation(node: torch.fx.Node) -> str:
    """`conv1d` for kokoro.conv1d.default, `add` for aten.add.Tensor."""
    return str(node.target).split(".")[1]


def _extent(extent: Any) -> Any:
    """A number, or sympy's expression of the one symbol."""
    return int(extent) if isinstance(extent, int) else extent.node.expr


def _at(extent: Any, length: int) -> int:
    return extent if isinstance(extent, int) else int(extent.subs(dict.fromkeys(extent.free_symbols, length)))
