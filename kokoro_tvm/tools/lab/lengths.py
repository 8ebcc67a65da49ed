"""Every length: a component at any number of tokens or frames, the edges of its buckets, and what it makes of
whatever stands behind the valid part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import COMPONENT_AXES, SAMPLES_PER_FRAME
from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.runtime import TooLongError
from kokoro_tvm.runtime.session.session import SessionBase
from kokoro_tvm.validation.measure.engine import Engine, Fill, TvmEngine, run_component
from kokoro_tvm.validation.measure.gates import (
    Verdict,
    first_of,
    judge_output,
    limits_of,
    missed_lines,
    number,
)
from kokoro_tvm.validation.measure.metrics import measure, measure_audio
from kokoro_tvm.validation.reference.reference import INPUTS, OUTPUTS, Reference

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates

__all__ = [
    "Edge",
    "LengthSample",
    "LengthsReport",
    "TailTrial",
    "TailsReport",
    "bucket_edges",
    "every_length",
    "inputs_at",
    "lengths_within",
    "random_fill",
    "tail_trials",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class LengthSample:
    """One output of one component at one length, against pt.float64 on the same inputs."""

    component: str
    length: int
    output: str
    metrics: Mapping[str, float]
    """Those of `measure`, or of `measure_audio`, beside PyTorch float32."""
    verdicts: tuple[Verdict, ...]

    @property
    def status(self) -> str:
        """`passed` or `failed`."""
        return "failed" if any(v.status == "failed" for v in self.verdicts) else "passed"

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "component": self.component,
            "length": self.length,
            "output": self.output,
            "status": self.status,
            "metrics": {name: number(value) for name, value in self.metrics.items()},
            "verdicts": [v.to_json() for v in self.verdicts],
        }


@dataclass(frozen=True)
class Edge:
    """A length next to a bucket's edge: where it belongs, and what the session made of it."""

    component: str
    bucket: int
    length: int
    expected: int | None
    """The bucket it belongs to; None where it is to be refused."""
    refused: bool
    equal: bool
    """Whether what the session gave is bit for bit what the expected bucket gives."""

    @property
    def status(self) -> str:
        """`passed` or `failed`."""
        met = self.refused if self.expected is None else self.equal
        return "passed" if met else "failed"


@dataclass(frozen=True)
class TailTrial:
    """One component at one bucket and length with different things behind the valid part of its inputs."""

    component: str
    bucket: int
    length: int
    tails: int
    equal: int
    """How many gave outputs that are bit for bit those with zeros there, over the whole bucket."""
    silent: bool
    """Whether the outputs are zero behind their valid part."""

    @property
    def status(self) -> str:
        """`passed` or `failed`."""
        return "passed" if self.equal == self.tails and self.silent else "failed"


@dataclass(frozen=True)
class LengthsReport:
    """Every length and every edge of a bundle. `enforce`: whether its recipe's gates stop anything."""

    bundle: str
    policy: str
    enforce: bool
    lengths: tuple[LengthSample, ...]
    edges: tuple[Edge, ...]

    @property
    def missed(self) -> list[str]:
        """One line for each output that misses a gate at some length, and for each edge that is wrong."""
        failed: dict[str, list[LengthSample]] = {}
        for row in self.lengths:
            if row.status == "failed":
                failed.setdefault(f"{row.component} {row.output}", []).append(row)
        lines = []
        for output, rows in failed.items():
            missed = first_of(missed_lines(("", v) for v in rows[0].verdicts))
            at = ", ".join(str(row.length) for row in rows)
            lines.append(f"{output} misses a gate at {at}: at {rows[0].length}, {missed}")
        return lines + [
            f"{e.component} of {e.length} next to bucket {e.bucket} was to "
            + ("be refused" if e.expected is None else f"run in bucket {e.expected}")
            for e in self.edges
            if e.status == "failed"
        ]

    def require(self) -> None:
        """Raise ValidationError for a wrong edge, and for a missed gate where gates are enforced."""
        wrong = any(edge.status == "failed" for edge in self.edges)
        if wrong or (self.enforce and self.missed):
            raise ValidationError(f"{self.bundle} does not hold at every length. {'. '.join(self.missed)}.")

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        about = {"schema": 1, "bundle": self.bundle, "length": self.policy, "enforce": self.enforce}
        return about | {
            "missed": self.missed,
            "lengths": [row.to_json() for row in self.lengths],
            "edges": [_row(edge) for edge in self.edges],
        }


@dataclass(frozen=True)
class TailsReport:
    """Every trial of a bundle."""

    bundle: str
    policy: str
    trials: tuple[TailTrial, ...]

    def require(self) -> None:
        """Raises ValidationError, naming every trial whose output a tail changed."""
        failed = [
            f"{t.component}-{t.bucket} of {t.length}: {t.tails - t.equal} of {t.tails} tails change it"
            + ("" if t.silent else ", and its outputs are not zero behind the valid part")
            for t in self.trials
            if t.status == "failed"
        ]
        if failed:
            raise ValidationError(
                f"{self.bundle} ({self.policy}) depends on its padding: {'; '.join(failed)}."
            )

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        about = {"schema": 1, "bundle": self.bundle, "length": self.policy}
        return about | {"trials": [_row(trial) for trial in self.trials]}


def lengths_within(bucket: int) -> tuple[int, ...]:
    """Valid lengths to test tails at: 1, about a third of the bucket, and one less than it."""
    return tuple(sorted({n for n in (1, bucket // 3, bucket - 1) if 1 <= n < bucket}))


def inputs_at(reference: Reference, component: str, length: int) -> dict[str, Array]:
    """Inputs of a component for any length: the reference's, from the start again when they end.

    Tokens keep the boundary symbol at both ends; noise is drawn anew.
    """
    made = dict(reference.inputs(component))
    for name in INPUTS[component]:
        match name:
            case "style":
                pass
            case "tokens":
                inside = made[name][0, 1:-1]
                ids = np.zeros(length, np.int64)
                if length > 2:
                    ids[1:-1] = np.resize(inside, length - 2)
                made[name] = ids[None]
            case "noise":
                made[name] = reference.draw(SAMPLES_PER_FRAME * length)[None]
            case _:
                whole = made[name]
                count = length * (whole.shape[-1] // reference.length(COMPONENT_AXES[component]))
                made[name] = np.ascontiguousarray(whole[..., np.arange(count) % whole.shape[-1]])
    return made


def every_length(
    engine: Engine,
    truth: Engine,
    pytorch: Engine,
    reference: Reference,
    component: str,
    lengths: Iterable[int],
    gates: Gates,
) -> Iterator[LengthSample]:
    """One component at each length: `engine` and PyTorch float32 against the truth, on the same inputs.

    Judged by the gates on whole outputs: of a few frames, a percentile is their minimum. Which of two sums of
    a few tokens is nearer is chance, so that only the decoder has to gain.
    """
    limits = limits_of(gates, component, without="frame")
    if component != "decoder":
        limits.pop("min_gain_db")
    for length in lengths:
        inputs = inputs_at(reference, component, length)
        ours, exact, theirs = (run_component(e, component, inputs).values for e in (engine, truth, pytorch))
        for name in OUTPUTS[component]:
            values = (ours[name], exact[name], theirs[name])
            metrics = measure_audio(*(v[0] for v in values)) if name == "audio" else measure(*values, length)
            verdicts = judge_output(metrics, limits, name)
            yield LengthSample(component, length, name, metrics, tuple(verdicts))


def bucket_edges(session: SessionBase, reference: Reference, component: str) -> Iterator[Edge]:
    """One below each bucket, the bucket itself and one above: what the session, which runs as it does for
    speech, makes of them, and the expected bucket run by itself."""
    engine, buckets = TvmEngine(session), session.bundle.components[component].buckets
    for bucket in buckets:
        for length in range(max(1, bucket - 1), bucket + 2):
            expected = next((b for b in buckets if length <= b), None)
            inputs = inputs_at(reference, component, length)
            try:
                outputs = session.run(component, length, *(inputs[name] for name in INPUTS[component]))
            except TooLongError:
                yield Edge(component, bucket, length, expected, True, False)
                continue
            given = dict(zip(OUTPUTS[component], map(np.array, outputs), strict=True))
            alone = (
                {} if expected is None else run_component(engine, component, inputs, bucket=expected).values
            )
            yield Edge(component, bucket, length, expected, False, _same(alone, given))


def tail_trials(
    engine: Engine, reference: Reference, component: str, bucket: int, length: int, tails: int, seed: int = 0
) -> TailTrial:
    """Run a component with zeros behind the valid part of its inputs, then with `tails` random things there.

    Random things: normal numbers of any magnitude, infinities and NaN; of tokens any int64.
    """
    inputs = inputs_at(reference, component, length)
    generator = np.random.default_rng([seed, bucket, length])
    zeros = run_component(engine, component, inputs, bucket=bucket)
    equal = 0
    for _ in range(tails):
        done = run_component(engine, component, inputs, bucket=bucket, fill=random_fill(generator))
        equal += _same(done.values, zeros.values) and done.tails == zeros.tails
    silent = all(tail.max_abs == 0 and tail.finite_fraction == 1 for tail in zeros.tails.values())
    return TailTrial(component, bucket, length, tails, equal, silent)


def random_fill(generator: np.random.Generator) -> Fill:
    """A fill of random things; the same generator gives others each time."""

    def fill(name: str, valid: Array, count: int) -> Array:
        shape = (count, *valid.shape[1:])
        if valid.dtype == np.int64:
            return generator.integers(-(2**62), 2**62, shape)
        behind = generator.standard_normal(shape, np.float32) * np.float32(10.0 ** generator.uniform(-6, 30))
        strange = np.array([np.nan, np.inf, -np.inf, 0.0], np.float32)
        where = generator.random(shape, np.float32) < 0.1
        behind[where] = generator.choice(strange, int(where.sum()))
        return behind

    return fill


def _row(row: Edge | TailTrial) -> dict[str, Any]:
    return asdict(row) | {"status": row.status}


def _same(first: Mapping[str, Array], second: Mapping[str, Array]) -> bool:
    """Bit for bit."""
    return first.keys() == second.keys() and all(
        value.shape == second[name].shape and value.tobytes() == second[name].tobytes()
        for name, value in first.items()
    )
