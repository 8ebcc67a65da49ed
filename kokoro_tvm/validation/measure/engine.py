"""The five components at any shape, whoever computes them, and the way of one utterance through them.

An engine is TVM code of a bundle, or the patched model in eager PyTorch (`eager`). It runs one component at
one bucket, on inputs that are padded already; what stands in their tails is up to whoever calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import COMPONENT_AXES, SAMPLES_PER_FRAME, STYLE_DIM
from kokoro_tvm.runtime.session.model import frame_durations, repeat_tokens, token_of_frame
from kokoro_tvm.runtime.session.routing import length_axis, smallest_bucket
from kokoro_tvm.runtime.session.session import SessionBase
from kokoro_tvm.validation.reference.reference import INPUTS, OUTPUTS, Request
from kokoro_tvm.validation.reference.steps import STEPS, Steps, Tail, split_tail

__all__ = ["Engine", "Fill", "TvmEngine", "Valid", "chain", "run_component"]

Array = NDArray[Any]
Fill = Callable[[str, Array, int], Array]
"""(input's name, its valid part with time first, how many steps to put behind it) -> those steps."""


class Engine(Protocol):
    """Whatever computes the components."""

    @property
    def regime(self) -> str:
        """Its name in reports."""

    @property
    def policy(self) -> str:
        """The length policy: "exact", "masked" or "padded"."""

    def buckets(self, component: str) -> tuple[int, ...]:
        """The buckets a component may be run at, rising."""
        ...

    def run_whole(
        self, component: str, bucket: int, length: int, inputs: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Outputs by name over the whole of what was computed, for inputs as long as the policy has them.

        Inner steps of the component may be among them.
        """
        ...


@dataclass(frozen=True)
class TvmEngine:
    """The compiled code of a bundle."""

    session: SessionBase
    regime: str = "tvm"

    @property
    def policy(self) -> str:
        """The bundle's length policy."""
        return self.session.bundle.length

    def buckets(self, component: str) -> tuple[int, ...]:
        return self.session.bundle.components[component].buckets

    def run_whole(
        self, component: str, bucket: int, length: int, inputs: Mapping[str, Array]
    ) -> dict[str, Array]:
        ports = self.session.bundle.components[component].outputs
        arrays = [inputs[name] for name in INPUTS[component]]
        outputs = self.session.run_whole(component, bucket, length, *arrays)
        # Copies: outputs lie in the runtime's memory, and a run of another length takes that back.
        return {port.name: np.array(value) for port, value in zip(ports, outputs, strict=True)}


def _zeros(name: str, valid: Array, count: int) -> Array:
    return np.zeros((count, *valid.shape[1:]), valid.dtype)


@dataclass(frozen=True, eq=False)
class Valid:
    """A component's outputs by name: the valid parts, and what stood behind them at a static shape."""

    values: Mapping[str, Array]
    tails: Mapping[str, Tail]
    bucket: int


_EXTENTS = {step.name: step.extent for step in STEPS}


def run_component(
    engine: Engine,
    component: str,
    inputs: Mapping[str, Array],
    *,
    bucket: int | None = None,
    fill: Fill = _zeros,
) -> Valid:
    """Run one component on valid inputs (by name, as its exact signature has them), padded with `fill`.

    `bucket`: one of the engine's; the smallest that holds the utterance unless given. Raises TooLongError
    when none does.
    """
    axis = COMPONENT_AXES[component]
    length = _length(component, inputs)
    chosen = smallest_bucket(engine.buckets(component) if bucket is None else (bucket,), length, axis)
    size = length if engine.policy == "exact" else chosen
    whole = {name: _padded(name, inputs[name], length, size, fill) for name in INPUTS[component]}
    values, tails = {}, {}
    for name, value in engine.run_whole(component, chosen, length, whole).items():
        values[name], tail = split_tail(value, _EXTENTS[name](length))
        if tail is not None:
            tails[name] = tail
    return Valid(values, tails, chosen)


def chain(
    engine: Engine,
    request: Request,
    bucket: Mapping[str, int] | None = None,
    durations: NDArray[np.int64] | None = None,
) -> Steps:
    """One utterance through the five components of an engine, as the runtime's synthesizer does it.

    `bucket` by axis, unless the smallest is wanted; `durations` (T,) are aligned by in place of the engine's
    own, so that what follows can be compared where those are wrong. Raises TooLongError when it does not fit.
    """
    tokens, ref_s = request.tokens, request.ref_s
    timbre, prosody = np.ascontiguousarray(ref_s[:, :STYLE_DIM]), np.ascontiguousarray(ref_s[:, STYLE_DIM:])
    values: dict[str, Array] = {}
    tails: dict[str, Tail] = {}

    def run(component: str, **inputs: Array) -> Sequence[Array]:
        which = (bucket or {}).get(COMPONENT_AXES[component])
        done = run_component(engine, component, inputs, bucket=which)
        values.update(done.values)
        tails.update(done.tails)
        return [done.values[name] for name in OUTPUTS[component]]

    (d_en,) = run("bert", tokens=tokens)
    duration, d = run("duration", d_en=d_en, style=prosody)
    values["pred_dur"] = frame_durations(duration, request.speed)
    values["alignment"] = index = token_of_frame(values["pred_dur"] if durations is None else durations)
    (t_en,) = run("text_encoder", tokens=tokens)
    values["en"], values["asr"] = en, asr = repeat_tokens(d, index), repeat_tokens(t_en, index)
    f0, n = run("f0n", en=en, style=prosody)
    noise = request.draw(SAMPLES_PER_FRAME * index.size)[None]
    (audio,) = run("decoder", asr=asr, f0=f0, n=n, style=timbre, noise=noise)
    values["audio"] = audio.reshape(-1)
    why = "it stays inside a compiled component"
    missing = {s.name: why for s in STEPS if s.name not in values}
    return Steps(engine.regime, values, tails, missing)


def _length(component: str, inputs: Mapping[str, Array]) -> int:
    first = INPUTS[component][0]
    return int(inputs[first].shape[-1])


def _padded(name: str, array: Array, length: int, size: int, fill: Fill) -> Array:
    where = length_axis(name, SAMPLES_PER_FRAME)
    if where is None or size == length:
        return np.ascontiguousarray(array)
    axis, factor = where
    steps = np.moveaxis(array, axis, 0)
    behind = fill(name, steps, (size - length) * factor)
    return np.ascontiguousarray(np.moveaxis(np.concatenate([steps, behind]), 0, axis))
