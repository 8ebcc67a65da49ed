"""Values of a component in compiled code and in PyTorch, compared one after the other up to the first that
diverges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.tools.lab.probe.compare import ALLOWANCE, ProbeRow, comparable, compare
from kokoro_tvm.tools.lab.probe.compiled import CompiledSubject
from kokoro_tvm.tools.lab.probe.eager import run_eager
from kokoro_tvm.tools.lab.probe.subject import Subject
from kokoro_tvm.tools.lab.probe.surgery import cut_out, with_outputs
from kokoro_tvm.tools.lab.probe.values import Value

__all__ = ["Probe", "ProbeResult"]

Array = NDArray[Any]


@dataclass(frozen=True)
class ProbeResult:
    """What a probe found; `rows` ends with the first value that diverges, if one does."""

    artifact: str
    wanted: int
    tolerance: float
    alone: bool
    rows: tuple[ProbeRow, ...]

    @property
    def first(self) -> ProbeRow | None:
        """The first value that diverges."""
        return self.rows[-1] if self.rows and self.rows[-1].diverges else None

    def require(self) -> None:
        """Raise ValidationError, naming the first value that diverges, if one does."""
        row = self.first
        if row is None:
            return
        reads = f", which reads {', '.join(row.value.weights)}" if row.value.weights else ""
        what = "given what it receives in PyTorch" if self.alone else "of those requested"
        raise ValidationError(
            f"{self.artifact}: {row.value.name} is the first value that diverges, {what}. It is a result of "
            f"{row.value.operation}{reads}: relative error {row.error:.3g} against float64, PyTorch float32 "
            f"has {row.pytorch_error:.3g}; allowed are {self.tolerance:g} and {ALLOWANCE:g} times PyTorch's. "
            + (
                "The kernel is at fault, or its packing."
                if self.alone
                else f"Probe it alone (--operation {row.value.operation} --at '{row.value.name}') to see "
                "whether the error is made there, or ask for values before it."
            )
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "artifact": self.artifact,
            "tolerance": self.tolerance,
            "allowance": ALLOWANCE,
            "alone": self.alone,
            "wanted": self.wanted,
            "first_diverging": self.first.value.name if self.first else None,
            "values": [row.to_json() for row in self.rows],
        }


@dataclass(frozen=True)
class Probe:
    """Settings of a probe.

    Attributes:
        tolerance: See `ProbeRow.diverges`.
        progress: Called after every step.
        together: Bytes of values in one program. Four times as many are held.
    """

    subject: Subject
    tolerance: float
    threads: int = 1
    progress: Callable[[str], None] = field(default=lambda _: None)
    together: int = 384 << 20

    def inside(self, values: Sequence[Value], given: Mapping[str, Array]) -> Iterator[ProbeRow]:
        """The values where they are, in the whole component. given: arrays of its exact signature."""
        inputs, length = self.subject.inputs(given)
        for some in self._parts(values, length):
            nodes = [v.node for v in some]
            program = with_outputs(self.subject.program, nodes)
            runs = self._eager(program, inputs, nodes)
            yield from self._rows(some, program, inputs, length, runs)

    def alone(
        self, values: Sequence[Value], given: Mapping[str, Array], seed: int | None = None
    ) -> Iterator[ProbeRow]:
        """The operations that make the values, each by itself: it receives what it does in PyTorch float64,
        rounded to float32, or (seed) standard normal numbers of the same shapes."""
        inputs, length = self.subject.inputs(given)
        for some in self._parts(values, length):
            nodes = [v.node for v in some]
            program, sources = cut_out(self.subject.program, nodes)
            whole = with_outputs(self.subject.program, list(sources.values())) if sources else None
            seen = self._truth(whole, inputs, list(sources.values())) if whole else {}
            arrays = [*inputs, *(seen[source] for source in sources.values())]
            if seed is not None:
                draw = np.random.default_rng(seed)
                arrays = [_random(a, draw) for a in arrays]
            arrays = [a.astype(np.float32) if a.dtype == np.float64 else a for a in arrays]
            runs = self._eager(program, arrays, nodes)
            yield from self._rows(some, program, arrays, length, runs)

    def findings(self, artifact: str, rows: Iterator[ProbeRow], wanted: int, alone: bool) -> ProbeResult:
        """The rows up to the first that diverges; what comes behind it is not computed."""
        found: list[ProbeRow] = []
        for row in rows:
            found.append(row)
            if row.diverges:
                break
        return ProbeResult(artifact, wanted, self.tolerance, alone, tuple(found))

    def _parts(self, values: Sequence[Value], length: int) -> Iterator[list[Value]]:
        """As many at a time as memory holds."""
        size = length if self.subject.length == "exact" else self.subject.bucket
        part: list[Value] = []
        held = 0
        for value in values:
            wanted = 4 * math.prod(value.shape(size))
            if part and held + wanted > self.together:
                yield part
                part, held = [], 0
            part.append(value)
            held += wanted
        if part:
            yield part

    def _eager(self, program: Any, inputs: Sequence[Array], nodes: Sequence[str]) -> list[dict[str, Array]]:
        weights = self.subject.weights
        self.progress(f"PyTorch float32 and float64: {len(nodes)} values")
        return [run_eager(program, weights, inputs, nodes, d) for d in (torch.float32, torch.float64)]

    def _truth(self, program: Any, inputs: Sequence[Array], nodes: Sequence[str]) -> dict[str, Array]:
        self.progress(f"PyTorch float64: what {len(nodes)} inputs of operations are")
        return run_eager(program, self.subject.weights, inputs, nodes, torch.float64)

    def _rows(
        self,
        values: Sequence[Value],
        program: Any,
        inputs: Sequence[Array],
        length: int,
        runs: Sequence[Mapping[str, Array]],
    ) -> Iterator[ProbeRow]:
        pytorch, truth = runs
        with TemporaryDirectory(prefix="kokoro-probe-") as folder:
            self.progress(f"compiling {self.subject.component} with {len(values)} values as outputs")
            outputs = CompiledSubject(self.subject, program, Path(folder)).run(inputs, self.threads)
            for value, output in zip(values, outputs, strict=True):
                arrays = (output, pytorch[value.node], truth[value.node])
                ours, single, double = (comparable(value, self._valid(value, a, length)) for a in arrays)
                yield compare(value, ours, single, double, self.tolerance)

    def _valid(self, value: Value, array: Array, length: int) -> Array:
        return array if value.operation == "moments" else self.subject.valid(value, array, length)


def _random(array: Array, draw: np.random.Generator) -> Array:
    return draw.standard_normal(array.shape).astype(np.float32) if array.dtype.kind == "f" else array
