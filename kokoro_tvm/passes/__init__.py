"""The compiler passes a recipe may list, one to a file: `apply(module, context) -> module`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tvm import relax

from kokoro_tvm.errors import BuildError
from kokoro_tvm.features import Features
from kokoro_tvm.loading import load
from kokoro_tvm.ops.base.relax import SemanticCall, resolve_call
from kokoro_tvm.ops.base.schedule import ConvChoice

__all__ = ["LoweringContext", "list_bindings", "list_passes", "run_passes"]


@dataclass(frozen=True)
class LoweringContext:
    """What a pass may know besides the module.

    component: prefix of every function, so that modules can live together; target: a TVM Target;
    features: what its CPU has; weights: the parameters that are weights, by their names in the module;
    schedule: layer, as `OpImplementation.layer` names it, -> how to compute it; storage_step: memory is reserved
    for the next multiple of so many steps of the symbolic length."""

    component: str
    target: Any
    features: Features
    weights: frozenset[str]
    schedule: Mapping[str, ConvChoice] = field(default_factory=dict)
    storage_step: int = 1

    @property
    def forward(self) -> str:
        """The name of the component's function."""
        return f"{self.component}_forward"

    def resolve(self, call: Any) -> SemanticCall | None:
        """What a semantic call uses; None for every other expression."""
        return resolve_call(call, self.features, self.schedule)

    def is_weight(self, expression: Any) -> bool:
        return isinstance(expression, relax.Var) and expression.name in self.weights

    def rewrite(self, module: Any, mutator: Any) -> Any:
        """A module with the component's function as a mutator rewrites it."""
        function = module[self.forward]
        body = mutator.visit_expr(function.body)
        result = mutator.builder_.get()
        result[self.forward] = relax.Function(
            function.params, body, function.ret_ty, function.is_pure, function.attrs
        )
        return result


def list_bindings(function: Any) -> list[Any]:
    """Those of a function, in order."""
    return [binding for block in function.body.blocks for binding in block.bindings]


def list_passes() -> list[str]:
    """The names a recipe may use."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def run_passes(
    module: Any,
    names: Iterable[str],
    context: LoweringContext,
    dump: Callable[[str, Any], None] = lambda name, module: None,
) -> Any:
    """Applies the passes in order, handing every result to `dump`. Raises BuildError for an unknown name."""
    for name in names:
        if name not in list_passes():
            raise BuildError(f"unknown pass {name!r}; there are: {', '.join(list_passes())}")
        module = load(f"{__name__}.{name}").apply(module, context)
        dump(name, module)
    return module
