"""Run single components at any shape, and one utterance through all five."""

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

Array = NDArray[Any]
Padding = Callable[[str, Array, int], Array]
"""(input's name, its valid part with time first, number of steps) -> the steps to put behind it."""


class ComponentEngine(Protocol):
    """Code that computes one component at one bucket, on padded inputs."""

    @property
    def policy(self) -> str:
        """The length policy: "exact", "masked" or "padded"."""

    def buckets(self, component: str) -> tuple[int, ...]:
        """Return the buckets of a component, in ascending order."""
        ...

    def run_whole(
        self, component: str, bucket: int, length: int, inputs: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Return the outputs by name, over the whole bucket; inputs are as long as the policy requires."""
        ...


@dataclass(frozen=True)
class TvmEngine:
    """The compiled code of a bundle."""

    session: SessionBase

    @property
    def policy(self) -> str:
        """The bundle's length policy."""
        return self.session.bundle.length

    def buckets(self, component: str) -> tuple[int, ...]:
        """Return the buckets that the bundle has of a component."""
        return self.session.bundle.components[component].buckets

    def run_whole(
        self, component: str, bucket: int, length: int, inputs: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Run the bundle's code of one bucket."""
        ports = self.session.bundle.components[component].outputs
        arrays = [inputs[name] for name in INPUTS[component]]
        outputs = self.session.run_whole(component, bucket, length, *arrays)
        # Copies: outputs lie in the runtime's memory, which a run of another length reuses.
        return {port.name: np.array(value) for port, value in zip(ports, outputs, strict=True)}


@dataclass(frozen=True, eq=False)
class ComponentOutput:
    """A component's outputs by name: the valid parts, and summaries of the padding behind them."""

    values: Mapping[str, Array]
    tails: Mapping[str, Tail]


_EXTENTS = {step.name: step.extent for step in STEPS}


def _zeros(name: str, valid: Array, count: int) -> Array:
    """Return `count` steps of zeros; a `Padding`."""
    return np.zeros((count, *valid.shape[1:]), valid.dtype)


def run_component(
    engine: ComponentEngine,
    component: str,
    inputs: Mapping[str, Array],
    *,
    bucket: int | None = None,
    padding: Padding = _zeros,
) -> ComponentOutput:
    """Run one component on valid inputs, by the names and shapes of its exact signature.

    Args:
        engine: Computes the component.
        component: Its name.
        inputs: Valid inputs by name.
        bucket: One of the engine's buckets, or None for the smallest that fits.
        padding: Fills the inputs up to the bucket.

    Raises:
        TooLongError: No bucket fits.
    """
    axis = COMPONENT_AXES[component]
    length = int(inputs[INPUTS[component][0]].shape[-1])
    bucket = smallest_bucket(engine.buckets(component) if bucket is None else (bucket,), length, axis)
    size = length if engine.policy == "exact" else bucket
    padded = {name: _pad(name, inputs[name], length, size, padding) for name in INPUTS[component]}
    values, tails = {}, {}
    for name, value in engine.run_whole(component, bucket, length, padded).items():
        values[name], tail = split_tail(value, _EXTENTS[name](length))
        if tail is not None:
            tails[name] = tail
    return ComponentOutput(values, tails)


def run_chain(engine: TvmEngine, request: Request, durations: NDArray[np.int64] | None = None) -> Steps:
    """Run one utterance through the five components, as the synthesizer does, and record every step.

    Args:
        engine: The bundle's code.
        request: The utterance.
        durations: (T,) frames to align by instead of the bundle's own.

    Raises:
        TooLongError: The utterance does not fit.
    """
    tokens, ref_s = request.tokens, request.ref_s
    timbre, prosody = np.ascontiguousarray(ref_s[:, :STYLE_DIM]), np.ascontiguousarray(ref_s[:, STYLE_DIM:])
    values: dict[str, Array] = {}
    tails: dict[str, Tail] = {}

    def run(component: str, **inputs: Array) -> Sequence[Array]:
        """Run a component and record its outputs; return them in the order of its signature."""
        output = run_component(engine, component, inputs)
        values.update(output.values)
        tails.update(output.tails)
        return [output.values[name] for name in OUTPUTS[component]]

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
    missing = {step.name: "it stays inside a compiled component" for step in STEPS if step.inner}
    return Steps("tvm", values, tails, missing)


def _pad(name: str, array: Array, length: int, size: int, padding: Padding) -> Array:
    """Pad an input along its time axis to `size` tokens or frames; inputs without time are unchanged."""
    place = length_axis(name, SAMPLES_PER_FRAME)
    if place is None or size == length:
        return np.ascontiguousarray(array)
    axis, factor = place
    steps = np.moveaxis(array, axis, 0)
    tail = padding(name, steps, (size - length) * factor)
    return np.ascontiguousarray(np.moveaxis(np.concatenate([steps, tail]), 0, axis))
