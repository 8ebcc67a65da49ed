"""Measure a component at every length and bucket edge, and with random values in its padding."""

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
from kokoro_tvm.validation.measure.engine import ComponentEngine, Padding, TvmEngine, run_component
from kokoro_tvm.validation.measure.gates import (
    Verdict,
    judge_output,
    limits_of,
    missed_lines,
    summarize_missed,
    to_json,
)
from kokoro_tvm.validation.measure.metrics import measure, measure_audio
from kokoro_tvm.validation.reference.reference import INPUTS, OUTPUTS, Reference

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates

Array = NDArray[Any]


@dataclass(frozen=True)
class LengthSample:
    """One output of one component at one length, against pt.float64 on the same inputs."""

    component: str
    length: int
    output: str
    metrics: Mapping[str, float]
    """By `measure` or `measure_audio`, beside PyTorch float32."""
    verdicts: tuple[Verdict, ...]

    @property
    def status(self) -> str:
        """`passed` or `failed`."""
        return _status(all(v.status != "failed" for v in self.verdicts))

    def to_json(self) -> dict[str, Any]:
        """Return the sample as JSON data."""
        return to_json(self, "component", "length", "output", "status", "metrics", "verdicts")


@dataclass(frozen=True)
class Edge:
    """A length next to a bucket's edge, and what the session returned for it."""

    component: str
    bucket: int
    length: int
    expected: int | None
    """The bucket for this length, or None if the session must refuse it."""
    refused: bool
    equal: bool
    """True if the session's output equals that of the expected bucket, bit for bit."""

    @property
    def status(self) -> str:
        """`passed` or `failed`."""
        return _status(self.refused if self.expected is None else self.equal)


@dataclass(frozen=True)
class TailTrial:
    """One component at one bucket and length, with several values in the padding of its inputs."""

    component: str
    bucket: int
    length: int
    tails: int
    equal: int
    """Number of tails with the same output as zeros, bit for bit, over the whole bucket."""
    silent: bool
    """True if the outputs are zero behind their valid part."""

    @property
    def status(self) -> str:
        """`passed` or `failed`."""
        return _status(self.equal == self.tails and self.silent)


@dataclass(frozen=True)
class LengthsReport:
    """All lengths and edges of a bundle; `enforce` is that of its recipe's gates."""

    bundle: str
    policy: str
    enforce: bool
    lengths: tuple[LengthSample, ...]
    edges: tuple[Edge, ...]

    @property
    def missed(self) -> list[str]:
        """One line for each output that misses a gate at some length, and for each wrong edge."""
        failed: dict[str, list[LengthSample]] = {}
        for row in self.lengths:
            if row.status == "failed":
                failed.setdefault(f"{row.component} {row.output}", []).append(row)
        lines = []
        for output, rows in failed.items():
            summary = summarize_missed(missed_lines(("", v) for v in rows[0].verdicts))
            lengths = ", ".join(str(row.length) for row in rows)
            lines.append(f"{output} misses a gate at {lengths}: at {rows[0].length}, {summary}")
        return lines + [
            f"{e.component} of {e.length} next to bucket {e.bucket} was to "
            + ("be refused" if e.expected is None else f"run in bucket {e.expected}")
            for e in self.edges
            if e.status == "failed"
        ]

    def require(self) -> None:
        """Raise ValidationError for a wrong edge, and for a missed gate if gates are enforced."""
        wrong = any(edge.status == "failed" for edge in self.edges)
        if wrong or (self.enforce and self.missed):
            raise ValidationError(f"{self.bundle} does not hold at every length. {'. '.join(self.missed)}.")

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        header = {"schema": 1, "bundle": self.bundle, "length": self.policy, "enforce": self.enforce}
        return header | {
            "missed": self.missed,
            "lengths": [row.to_json() for row in self.lengths],
            "edges": [asdict(edge) | {"status": edge.status} for edge in self.edges],
        }


@dataclass(frozen=True)
class TailsReport:
    """All trials of a bundle."""

    bundle: str
    policy: str
    trials: tuple[TailTrial, ...]

    def require(self) -> None:
        """Raise ValidationError with every trial in which a tail changed the output."""
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
        """Return the report as JSON data."""
        trials = [asdict(trial) | {"status": trial.status} for trial in self.trials]
        return {"schema": 1, "bundle": self.bundle, "length": self.policy, "trials": trials}


def choose_lengths(bucket: int) -> tuple[int, ...]:
    """Choose valid lengths to test tails at: 1, about a third of the bucket, and one less than it."""
    return tuple(sorted({n for n in (1, bucket // 3, bucket - 1) if 1 <= n < bucket}))


def build_inputs(reference: Reference, component: str, length: int) -> dict[str, Array]:
    """Build inputs of any length: the reference's, cut or repeated from the start.

    Tokens keep the boundary symbol at both ends; noise is drawn anew.
    """
    inputs = dict(reference.inputs(component))
    for name in INPUTS[component]:
        if name == "tokens":
            ids = np.zeros(length, np.int64)
            if length > 2:
                ids[1:-1] = np.resize(inputs[name][0, 1:-1], length - 2)
            inputs[name] = ids[None]
        elif name == "noise":
            inputs[name] = reference.draw(SAMPLES_PER_FRAME * length)[None]
        elif name != "style":
            value = inputs[name]
            count = length * (value.shape[-1] // reference.length(COMPONENT_AXES[component]))
            inputs[name] = np.ascontiguousarray(value[..., np.arange(count) % value.shape[-1]])
    return inputs


def measure_lengths(
    engine: ComponentEngine,
    truth: ComponentEngine,
    pytorch: ComponentEngine,
    reference: Reference,
    component: str,
    lengths: Iterable[int],
    gates: Gates,
) -> Iterator[LengthSample]:
    """Measure one component at each length: `engine` and PyTorch float32 against the truth."""
    # A percentile of a few frames is their minimum, so only the gates on whole outputs apply. Which of two
    # float32 sums of a few tokens is nearer to the truth is chance, so only the decoder must gain.
    limits = limits_of(gates, component, without="frame")
    if component != "decoder":
        limits.pop("min_gain_db")
    for length in lengths:
        inputs = build_inputs(reference, component, length)
        ours, exact, theirs = (run_component(e, component, inputs).values for e in (engine, truth, pytorch))
        for name in OUTPUTS[component]:
            values = (ours[name], exact[name], theirs[name])
            metrics = measure_audio(*(v[0] for v in values)) if name == "audio" else measure(*values, length)
            verdicts = judge_output(metrics, limits, name)
            yield LengthSample(component, length, name, metrics, tuple(verdicts))


def check_edges(session: SessionBase, reference: Reference, component: str) -> Iterator[Edge]:
    """Compare the session with the expected bucket at the length of each bucket, one less and one more."""
    engine, buckets = TvmEngine(session), session.bundle.components[component].buckets
    for bucket in buckets:
        for length in range(max(1, bucket - 1), bucket + 2):
            expected = next((b for b in buckets if length <= b), None)
            inputs = build_inputs(reference, component, length)
            try:
                outputs = session.run(component, length, *(inputs[name] for name in INPUTS[component]))
            except TooLongError:
                yield Edge(component, bucket, length, expected, True, False)
                continue
            values = dict(zip(OUTPUTS[component], map(np.array, outputs), strict=True))
            equal = expected is not None and _is_same(
                run_component(engine, component, inputs, bucket=expected).values, values
            )
            yield Edge(component, bucket, length, expected, False, equal)


def try_tails(
    engine: ComponentEngine, reference: Reference, component: str, bucket: int, length: int, tails: int
) -> TailTrial:
    """Run a component with zeros as padding, and count the `tails` random paddings that change no bit."""
    inputs = build_inputs(reference, component, length)
    padding = random_padding(np.random.default_rng([0, bucket, length]))
    zeros = run_component(engine, component, inputs, bucket=bucket)
    equal = 0
    for _ in range(tails):
        output = run_component(engine, component, inputs, bucket=bucket, padding=padding)
        equal += _is_same(output.values, zeros.values) and output.tails == zeros.tails
    silent = all(tail.max_abs == 0 and tail.finite_fraction == 1 for tail in zeros.tails.values())
    return TailTrial(component, bucket, length, tails, equal, silent)


def random_padding(generator: np.random.Generator) -> Padding:
    """Return a padding of any normal numbers, a tenth of them 0 or not finite; for tokens, any int64."""

    def make_padding(name: str, valid: Array, count: int) -> Array:
        """Return `count` random rows shaped like those of `valid`; some values are 0 or not finite."""
        shape = (count, *valid.shape[1:])
        if valid.dtype == np.int64:
            return generator.integers(-(2**62), 2**62, shape)
        values = generator.standard_normal(shape, np.float32) * np.float32(10.0 ** generator.uniform(-6, 30))
        special = np.array([np.nan, np.inf, -np.inf, 0.0], np.float32)
        mask = generator.random(shape, np.float32) < 0.1
        values[mask] = generator.choice(special, int(mask.sum()))
        return values

    return make_padding


def _status(passed: bool) -> str:
    return "passed" if passed else "failed"


def _is_same(first: Mapping[str, Array], second: Mapping[str, Array]) -> bool:
    """Compare two sets of arrays bit for bit."""
    return first.keys() == second.keys() and all(
        value.shape == second[name].shape and value.tobytes() == second[name].tobytes()
        for name, value in first.items()
    )
