"""The layers of a component that a schedule may have entries for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm import relax

from kokoro_tvm.kernels.base.relax import resolve_call
from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import Machine
from kokoro_tvm.tools.lab.phases import phases_of

__all__ = ["TunedLayer", "layers_of", "representative"]

# Time steps by channels: about two and a half seconds of speech at the rates the decoder's layers run at.
_STEPS = ((512, 200), (256, 2000), (0, 12000))


@dataclass(frozen=True, eq=False)
class TunedLayer:
    """name: what a schedule calls it; call: one of its calls, of any length; count: how many there are;
    steps: time steps of the input it is measured with."""

    name: str
    call: OpCall
    count: int
    steps: int

    @property
    def flops(self) -> int:
        """Of all its calls at this length, the convolution done directly."""
        counted = registry()["conv1d"].flops
        assert counted is not None
        return counted(self.call) * self.steps * self.count


def layers_of(recipe: Recipe, component: str, machine: Machine) -> list[TunedLayer]:
    """The layers of a component, those that take longest first. Raises BuildError as lowering does."""
    phases = phases_of(recipe, component, machine)
    names = list(phases)
    before = phases[names[names.index("select_kernels") - 1]]
    return representative(_calls(before, component, machine))


def representative(calls: Sequence[tuple[str, OpCall]]) -> list[TunedLayer]:
    """Equal layers of (operation, Call) together, with the call that does most besides."""
    found: dict[str, list[OpCall]] = {}
    for operation, call in calls:
        if (name := registry()[operation].kernel_for(call.features).layer(call)) is not None:
            found.setdefault(name, []).append(_of_any_length(call))
    layers = [
        TunedLayer(name, max(same, key=_extent_of_work), len(same), _steps(same[0]))
        for name, same in found.items()
    ]
    return sorted(layers, key=lambda layer: -layer.flops)


def _extent_of_work(call: OpCall) -> tuple[bool, int]:
    return call.moments is not None, len(call.shapes)


def _calls(module: Any, component: str, machine: Machine) -> list[tuple[str, OpCall]]:
    nodes: list[Any] = []
    relax.analysis.post_order_visit(
        module[f"{component}_forward"], lambda n: nodes.append(n) if isinstance(n, relax.Call) else None
    )
    uses = [resolve_call(node, machine.features, {}) for node in nodes]
    return [(use.operation.name, use.call) for use in uses if use is not None]


def _of_any_length(call: OpCall) -> OpCall:
    """The call as recipes of length `exact` have it."""
    shapes = {
        name: (1, f"{name}_1", shape[2]) if name in ("x", "residual", "added") else shape
        for name, shape in call.shapes.items()
        if name != "length"
    }
    moments = ("moments_0", *call.moments[1:]) if call.moments is not None else None
    return replace(call, shapes=shapes, result=(1, "y_1", call.result[2]), moments=moments)


def _steps(call: OpCall) -> int:
    channels = max(int(call.shapes["x"][2]), int(call.result[2]))
    return next(steps for least, steps in _STEPS if channels >= least)
