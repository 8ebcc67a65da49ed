"""The three experiments on padding: F0N on the prefix alone (A), the decoder's tail (B), bucket sizes (C).

All of them take the truth's intermediates as inputs, so a component answers for itself alone, and compare
with pt.float64 on the same inputs. Static shapes are eager PyTorch's; the bundle stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.lab.decoders import Decoded, sweep
from kokoro_tvm.lab.engine import FILLS, Engine, Fill, run_component
from kokoro_tvm.lab.setting import Lab
from kokoro_tvm.measure.gates import number
from kokoro_tvm.measure.measurement import measure, measure_audio
from kokoro_tvm.truth.reference import DYNAMIC, Reference

__all__ = ["Experiment", "Row", "bucket_sizes", "decoder_tail", "prefix_f0n"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Row:
    """One measurement: which utterance, what was done to it, and what was measured, by name."""

    utterance: str
    frames: int
    regime: str
    variant: str
    bucket: int | None
    metrics: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        row = {k: getattr(self, k) for k in ("utterance", "frames", "regime", "variant", "bucket")}
        return row | {"metrics": {name: number(value) for name, value in self.metrics.items()}}


@dataclass(frozen=True)
class Experiment:
    """What one experiment found."""

    name: str
    question: str
    bundle: str
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        head = {"schema": 1, "name": self.name, "question": self.question, "bundle": self.bundle}
        return head | {"rows": [row.to_json() for row in self.rows]}


def prefix_f0n(lab: Lab, references: Sequence[Reference], frames: int) -> Experiment:
    """A: is padding what the static F0N suffers from? Its pitch and energy with the padding in the input,
    with the valid prefix alone, and masked; and what pt.dynamic's decoder makes of each.

    `frames`: the static length. Metrics: f0_max_abs and f0_mean_abs in Hz against pt.dynamic, f0_snr_db and
    n_snr_db against pt.float64, magnitude_correlation and audio_snr_db of the decoded pitch.
    """
    rows = []
    stock = lab.stock(DYNAMIC)
    with lab.eager(["exact", "masked", "padded"], inner=False) as engines:
        for r in references:
            for variant, policy in (("padded", "padded"), ("prefix only", "exact"), ("masked", "masked")):
                lab.progress(f"{r.name}, F0N {variant}")
                done = run_component(engines[policy], "f0n", r.inputs("f0n"), bucket=frames).values
                metrics = {}
                for name in ("f0", "n"):
                    dynamic = measure(done[name], getattr(r.fed_dynamic, name))
                    metrics[f"{name}_max_abs"], metrics[f"{name}_mean_abs"] = (
                        dynamic[key] for key in ("max_abs", "mean_abs")
                    )
                    metrics[f"{name}_snr_db"] = measure(done[name], getattr(r.fed_truth, name))["snr_db"]
                spoken = run_component(stock, "decoder", {**r.inputs("decoder"), **done}).values["audio"][0]
                heard = measure_audio(spoken, r.fed_dynamic.audio)
                metrics["audio_snr_db"] = heard["snr_db"]
                metrics["magnitude_correlation"] = heard["magnitude_correlation"]
                bucket = None if policy == "exact" else frames
                rows.append(Row(r.name, r.frames, engines[policy].regime, variant, bucket, metrics))
    question = "Is padding what makes the static F0N differ?"
    return Experiment("prefix-f0n", question, str(lab.bundle.root), tuple(rows))


def decoder_tail(
    lab: Lab, references: Sequence[Reference], buckets: Sequence[int], seed: int = 0
) -> Experiment:
    """B: does what stands behind the valid part of the decoder's inputs change what is heard before it?

    Tails: zeros; the last value repeated; random numbers as large as the valid part; and F0N's own, the
    pitch and energy it gives for padding. Metrics: against pt.float64 snr_db and magnitude_correlation, and
    moved_max_abs, moved_snr_db against the same decoder with zeros.
    """
    rows = []
    with lab.eager(["masked", "padded"], inner=False) as engines:
        for r in references:
            for bucket in buckets:
                if bucket < r.frames:
                    continue
                own = _own_tail(engines["padded"], r, bucket)
                fills = {**FILLS, "random": _random(np.random.default_rng(seed)), "F0N's own": own}
                for engine in engines.values():
                    zeros = None
                    for variant, fill in fills.items():
                        lab.progress(f"{r.name}, {engine.regime} decoder-{bucket}, tail: {variant}")
                        inputs = r.inputs("decoder")
                        done = run_component(engine, "decoder", inputs, bucket=bucket, fill=fill)
                        audio = done.values["audio"][0]
                        zeros = audio if zeros is None else zeros
                        heard, moved = measure_audio(audio, r.fed_truth.audio), measure(audio, zeros)
                        metrics = {k: heard[k] for k in ("snr_db", "magnitude_correlation")}
                        metrics |= {f"moved_{k}": moved[k] for k in ("max_abs", "snr_db")}
                        rows.append(Row(r.name, r.frames, engine.regime, variant, bucket, metrics))
    question = "Does the decoder hear what stands behind the valid part?"
    return Experiment("tail", question, str(lab.bundle.root), tuple(rows))


def bucket_sizes(lab: Lab, references: Sequence[Reference], buckets: Sequence[int]) -> Experiment:
    """C: how much of the harm do smaller buckets undo, beside masked and exact lengths?

    The decoder alone, and F0N and the decoder at the same bucket, at every bucket that holds the utterance;
    the bundle's decoder beside them. Metrics: snr_db, pytorch_snr_db, magnitude_correlation against
    pt.float64.
    """
    rows = []
    gates = lab.recipe.gates
    with lab.eager(["exact", "masked", "padded"], inner=False) as engines:
        for r in references:
            fitting = [bucket for bucket in buckets if bucket >= r.frames]
            for engine in engines.values():
                lab.progress(f"{r.name}, {engine.regime}")
                for done in sweep(engine, r, gates, fitting):
                    rows.append(_decoded(done, "decoder"))
                for bucket in [None] if engine.policy == "exact" else fitting:
                    curves = run_component(engine, "f0n", r.inputs("f0n"), bucket=bucket).values
                    inputs = {**r.inputs("decoder"), **curves}
                    done_ = run_component(engine, "decoder", inputs, bucket=bucket).values
                    heard = measure_audio(done_["audio"][0], r.fed_truth.audio)
                    metrics = {k: heard[k] for k in ("snr_db", "magnitude_correlation")}
                    rows.append(Row(r.name, r.frames, engine.regime, "f0n and decoder", bucket, metrics))
            own = lab.tvm.buckets("decoder")
            for done in sweep(lab.tvm, r, gates, [b for b in own if b >= r.frames]):
                rows.append(_decoded(done, "decoder"))
    question = "How much of the harm do smaller buckets undo?"
    return Experiment("buckets", question, str(lab.bundle.root), tuple(rows))


def _decoded(done: Decoded, variant: str) -> Row:
    wanted = ("snr_db", "pytorch_snr_db", "magnitude_correlation")
    assert done.metrics is not None  # only buckets that hold the utterance are run
    metrics = {k: done.metrics[k] for k in wanted}
    return Row(done.utterance, done.frames, done.regime, variant, done.bucket, metrics)


def _random(generator: np.random.Generator) -> Fill:
    """Normal numbers with the mean and the spread that every channel has in the valid part."""

    def fill(name: str, valid: Array, count: int) -> Array:
        draw = generator.standard_normal((count, *valid.shape[1:]), np.float32)
        return np.asarray(draw * valid.std(0) + valid.mean(0), np.float32)

    return fill


def _own_tail(padded: Engine, reference: Reference, bucket: int) -> Fill:
    """What a chain that cuts nothing hands on: F0N's own curves over the padding, zeros elsewhere."""
    size = 2 * reference.frames
    inputs = reference.inputs("f0n")
    whole = {name: np.zeros((*v.shape[:-1], bucket), v.dtype) for name, v in inputs.items() if name == "en"}
    whole["en"][..., : reference.frames] = inputs["en"]
    curves = padded.run_whole("f0n", bucket, reference.frames, inputs | whole)

    def fill(name: str, valid: Array, count: int) -> Array:
        if name in ("f0", "n"):
            return np.moveaxis(curves[name][..., size:], -1, 0)
        return FILLS["zeros"](name, valid, count)

    return fill
