"""The patched components in eager PyTorch float32: what compiled code should compute, operation by operation.

With `masked` a component is given the valid length and sees nothing else; with `padded` it takes padding for
speech, as the seeds' static export did with packing off; with `exact` there is no padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils._python_dispatch import TorchDispatchMode

from kokoro_tvm.common.constants import COMPONENT_AXES
from kokoro_tvm.model.components import build_component
from kokoro_tvm.model.kokoro import build_model
from kokoro_tvm.model.patches import apply_patches
from kokoro_tvm.validation.reference.reference import INPUTS, OUTPUTS
from kokoro_tvm.validation.reference.stock import stages_of

__all__ = ["STATIC_BUCKETS", "EagerEngine", "eager_engines"]

STATIC_BUCKETS: Mapping[str, tuple[int, ...]] = {
    "tokens": (512,),
    "frames": (128, 256, 512, 1024, 2048, 5120),
}
"""Shapes a static regime may take where no bundle says which."""

_WATCHED = {"duration": {"aten::sigmoid": "logits"}, "decoder": {"kokoro::istft": "spectrum"}}
"""Component -> operation -> the step its first argument is."""

Array = NDArray[Any]


class EagerEngine:
    """One length policy of components whose patches are in force; made by `eager_engines`."""

    def __init__(
        self,
        components: Mapping[str, torch.nn.Module],
        policy: str,
        buckets: Mapping[str, Sequence[int]],
        inner: bool,
    ) -> None:
        self.regime, self.policy = f"pt.{policy}", policy
        self._components, self._buckets, self._inner = components, buckets, inner

    def buckets(self, component: str) -> tuple[int, ...]:
        return tuple(self._buckets[COMPONENT_AXES[component]])

    def run_whole(
        self, component: str, bucket: int, length: int, inputs: Mapping[str, Array]
    ) -> dict[str, Array]:
        arguments = [torch.from_numpy(np.ascontiguousarray(inputs[name])) for name in INPUTS[component]]
        if self.policy == "masked":
            arguments.append(torch.tensor([length]))
        with torch.no_grad(), self._watched(component) as seen:
            outputs = self._components[component](*arguments)
        return seen | {n: v.numpy() for n, v in zip(OUTPUTS[component], outputs, strict=True)}

    @contextmanager
    def _watched(self, component: str) -> Iterator[dict[str, Array]]:
        """Filled with the inner values of a component by the time the block ends."""
        seen: dict[str, Array] = {}
        if not self._inner or component not in _WATCHED:
            yield seen
            return
        watch = _Watch(_WATCHED[component])
        with ExitStack() as scope:
            scope.enter_context(watch)
            if component == "decoder":
                stages = scope.enter_context(
                    stages_of(self._components[component].decoder, channels_last=True)
                )
            yield seen
        seen.update(watch.seen)
        if component == "decoder":
            seen.update(stages)


class _Watch(TorchDispatchMode):
    """While entered, reads the first argument of the named operations, (1, T, C), with time last.

    What is between two operations of one module has no module's border to be read at.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self._names = names
        self.seen: dict[str, Array] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        step = self._names.get(func.name().partition(".")[0])
        if step is not None:
            self.seen[step] = np.array(args[0].transpose(1, 2).numpy(), order="C", copy=True)
        return func(*args, **(kwargs or {}))


@contextmanager
def eager_engines(
    config: Mapping[str, Any],
    state: Mapping[str, torch.Tensor],
    patches: Mapping[str, Sequence[str]],
    policies: Sequence[str],
    buckets: Mapping[str, Sequence[int]] = STATIC_BUCKETS,
    inner: bool = True,
) -> Iterator[dict[str, EagerEngine]]:
    """Engines by policy ("exact", "masked", "padded") over one model, while the block lasts.

    `config` is config.json's content, `state` the float32 state dict, `patches` the recipe's, by component.
    Without `inner` what passes inside components is not kept, which saves memory at large buckets.
    """
    model = build_model(config, state)
    components = {name: build_component(name, model) for name in COMPONENT_AXES}
    with ExitStack() as scope:
        for name, component in components.items():
            scope.enter_context(apply_patches(patches[name], component))
        yield {policy: EagerEngine(components, policy, buckets, inner) for policy in policies}
