"""Compiler passes that a recipe may list, one per file: `apply(module, context) -> module`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tvm import relax

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.features import Features
from kokoro_tvm.common.loading import load
from kokoro_tvm.kernels.base.relax import SemanticCall, resolve_call
from kokoro_tvm.kernels.base.schedule import ConvChoice

__all__ = ["LoweringContext", "list_bindings", "list_passes", "run_passes"]


@dataclass(frozen=True)
class LoweringContext:
    """What a pass knows besides the module.

    Attributes:
        component: Prefix of every function, so that modules can be linked together.
        target: TVM Target.
        features: Features of the target's machine.
        weights: Names of the parameters that are weights.
        schedule: Layer key, see `OpImplementation.layer`, to its tuned choice.
        storage_step: Memory is reserved for the next multiple of this many steps of the symbolic length.
    """

    component: str
    target: Any
    features: Features
    weights: frozenset[str]
    schedule: Mapping[str, ConvChoice] = field(default_factory=dict)
    storage_step: int = 1

    @property
    def forward(self) -> str:
        """Name of the component's function."""
        return f"{self.component}_forward"

    def resolve(self, call: Any) -> SemanticCall | None:
        """Resolve a semantic call; return None for every other expression."""
        return resolve_call(call, self.features, self.schedule)

    def is_weight(self, expression: Any) -> bool:
        """Return whether an expression is a weight of the component."""
        return isinstance(expression, relax.Var) and expression.name in self.weights

    def rewrite(self, module: Any, mutator: Any) -> Any:
        """Return the module with the component's function rewritten by a mutator."""
        function = module[self.forward]
        body = mutator.visit_expr(function.body)
        result = mutator.builder_.get()
        result[self.forward] = relax.Function(
            function.params, body, function.ret_ty, function.is_pure, function.attrs
        )
        return result


def list_bindings(function: Any) -> list[Any]:
    """Return the bindings of a function in order."""
    return [binding for block in function.body.blocks for binding in block.bindings]


def list_passes() -> list[str]:
    """Return the names that a recipe may list."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def run_passes(
    module: Any,
    names: Iterable[str],
    context: LoweringContext,
    dump: Callable[[str, Any], None] = lambda name, module: None,
) -> Any:
    """Apply passes in order.

    Args:
        module: The IRModule.
        names: Names of the passes.
        context: What passes know besides.
        dump: Called as dump(name, module) after each pass.

    Returns:
        The module after the last pass.

    Raises:
        BuildError: A pass is unknown, or refuses the module.
    """
    for name in names:
        if name not in list_passes():
            raise BuildError(f"unknown pass {name!r}; there are: {', '.join(list_passes())}")
        module = load(f"{__name__}.{name}").apply(module, context)
        dump(name, module)
    return module
