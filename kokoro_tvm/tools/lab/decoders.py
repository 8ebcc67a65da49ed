"""The decoder alone: on inputs of other regimes, and at every bucket."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.validation.measure.engine import Engine, run_component
from kokoro_tvm.validation.measure.gates import Verdict, judge_output, limits_of, number
from kokoro_tvm.validation.measure.metrics import measure_audio
from kokoro_tvm.validation.reference.reference import TRUTH, Reference
from kokoro_tvm.validation.reference.steps import Steps, Tail

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates

__all__ = ["Crossed", "Decoded", "crossings", "decode", "sweep"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Crossed:
    """One regime's decoder, fed with what stands before the decoder in another regime."""

    decoder: str
    fed_by: str
    like_fed: Mapping[str, float]
    """Metrics against the audio of the regime that fed it."""
    like_truth: Mapping[str, float] | None
    """Metrics against pt.float64's audio; None where the regime that fed it has other durations."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "decoder": self.decoder,
            "fed_by": self.fed_by,
            "like_fed": _plain(self.like_fed),
            "like_truth": None if self.like_truth is None else _plain(self.like_truth),
        }


@dataclass(frozen=True)
class Decoded:
    """A decoder at one bucket on a reference's inputs, against pt.float64 on the same inputs.

    judged: whether its verdicts count; padding taken for speech is only looked at.
    """

    utterance: str
    frames: int
    regime: str
    policy: str
    bucket: int | None
    """None where lengths are exact."""
    judged: bool
    metrics: Mapping[str, float] | None = None
    """Those of `measure_audio`, beside PyTorch float32."""
    tail: Tail | None = None
    verdicts: tuple[Verdict, ...] = ()
    reason: str = ""
    """Why it was not run."""

    @property
    def status(self) -> str:
        """`passed`, `failed`, or `not run`."""
        if self.metrics is None:
            return "not run"
        return "failed" if any(v.status == "failed" for v in self.verdicts) else "passed"

    def __str__(self) -> str:
        return f"{self.regime} decoder{'' if self.bucket is None else f'-{self.bucket}'}, {self.utterance}"

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        fields = {
            k: getattr(self, k) for k in ("utterance", "frames", "regime", "policy", "bucket", "judged")
        }
        return fields | {
            "status": self.status,
            "reason": self.reason,
            "metrics": None if self.metrics is None else _plain(self.metrics),
            "tail": None if self.tail is None else self.tail.to_json(),
            "verdicts": [v.to_json() for v in self.verdicts],
        }


def crossings(
    decoders: Mapping[str, Engine],
    found: Mapping[str, Steps],
    crossed: Sequence[tuple[str, str]],
    style: Array,
    noise: Array,
) -> Iterator[Crossed]:
    """Every (decoder, fed by) of `crossed`: `decoders` are engines by regime, `found` the regimes' steps.

    `style` (1, 128); `noise` (1, samples), long enough for all.
    """
    truth = found[TRUTH]
    for decoder, fed_by in crossed:
        steps = found[fed_by]
        inputs = {name: np.asarray(steps.values[name], np.float32) for name in ("asr", "f0", "n")}
        given = steps.values["audio"]
        inputs |= {"style": style, "noise": noise[:, : given.size]}
        audio = run_component(decoders[decoder], "decoder", inputs).values["audio"].reshape(-1)
        same_length = given.shape == truth.values["audio"].shape
        like_truth = measure_audio(audio, truth.values["audio"]) if same_length else None
        yield Crossed(decoder, fed_by, measure_audio(audio, given), like_truth)


def decode(engine: Engine, reference: Reference, gates: Gates, bucket: int | None = None) -> Decoded:
    """The decoder of an engine at one bucket; the smallest that holds the reference, unless given."""
    frames = reference.frames
    judged = engine.policy != "padded"
    about = (reference.name, frames, engine.regime, engine.policy)
    if bucket is not None and frames > bucket:
        return Decoded(*about, bucket, judged, reason="longer than the bucket")
    done = run_component(engine, "decoder", reference.inputs("decoder"), bucket=bucket)
    audio, truth = done.values["audio"].reshape(-1), reference.fed_truth.audio
    metrics = measure_audio(audio, truth, reference.fed_dynamic.audio, reference.fed_exact_audio)
    verdicts = judge_output(metrics, limits_of(gates, "decoder"), "audio")
    at = None if engine.policy == "exact" else done.bucket
    return Decoded(*about, at, judged, metrics, done.tails.get("audio"), tuple(verdicts))


def sweep(
    engine: Engine, reference: Reference, gates: Gates, buckets: Sequence[int] | None = None
) -> Iterator[Decoded]:
    """`decode` at each of the buckets, the engine's own unless given; once where lengths are exact."""
    if engine.policy == "exact":
        yield decode(engine, reference, gates)
        return
    for bucket in buckets or engine.buckets("decoder"):
        yield decode(engine, reference, gates, bucket)


def _plain(metrics: Mapping[str, float]) -> dict[str, float | str]:
    return {name: number(value) for name, value in metrics.items() if not math.isnan(value)}
