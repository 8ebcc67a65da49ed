"""Compare values of a component one after the other, up to the first that diverges."""

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
from kokoro_tvm.tools.lab.probe.compare import ALLOWANCE, ProbeRow, compare, reduce_moments
from kokoro_tvm.tools.lab.probe.compiled import CompiledSubject
from kokoro_tvm.tools.lab.probe.eager import run_eager
from kokoro_tvm.tools.lab.probe.subject import Subject
from kokoro_tvm.tools.lab.probe.surgery import cut_out, with_outputs
from kokoro_tvm.tools.lab.probe.values import Value

Array = NDArray[Any]


@dataclass(frozen=True)
class ProbeResult:
    """Rows of a probe, up to and including the first value that diverges."""

    artifact: str
    requested: int
    tolerance: float
    alone: bool
    rows: tuple[ProbeRow, ...]

    @property
    def first(self) -> ProbeRow | None:
        """The first value that diverges, or None."""
        return self.rows[-1] if self.rows and self.rows[-1].diverges else None

    def require(self) -> None:
        """Raise ValidationError with the first value that diverges, if there is one."""
        row = self.first
        if row is None:
            return
        reads = f", which reads {', '.join(row.value.weights)}" if row.value.weights else ""
        scope = "given what it receives in PyTorch" if self.alone else "of those requested"
        raise ValidationError(
            f"{self.artifact}: {row.value.name} is the first value that diverges, {scope}. It is a result of "
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
        """Return the result as JSON data."""
        head = {"artifact": self.artifact, "tolerance": self.tolerance, "allowance": ALLOWANCE}
        first = self.first.value.name if self.first else None
        head |= {"alone": self.alone, "wanted": self.requested, "first_diverging": first}
        return head | {"values": [row.to_json() for row in self.rows]}


@dataclass(frozen=True)
class Probe:
    """Settings of a probe.

    Attributes:
        subject: The component.
        tolerance: See `ProbeRow.diverges`.
        threads: Threads of the compiled code.
        progress: Called with a line of text before every step.
        batch_bytes: Size of the values in one program. Four copies are held in memory.
    """

    subject: Subject
    tolerance: float
    threads: int = 1
    progress: Callable[[str], None] = field(default=lambda _: None)
    batch_bytes: int = 384 << 20

    def run(
        self, artifact: str, values: Sequence[Value], arrays: Mapping[str, Array], alone: bool = False
    ) -> ProbeResult:
        """Compare values up to the first that diverges.

        Args:
            artifact: Name for messages.
            values: Values of the subject.
            arrays: Inputs by the names of the exact signature.
            alone: Compile the operations of the values without the rest of the component. Their inputs are
                those of the PyTorch run in float64, rounded to float32.
        """
        rows: list[ProbeRow] = []
        for row in self._compare(values, arrays, alone):
            rows.append(row)
            if row.diverges:
                break
        return ProbeResult(artifact, len(values), self.tolerance, alone, tuple(rows))

    def _compare(
        self, values: Sequence[Value], arrays: Mapping[str, Array], alone: bool
    ) -> Iterator[ProbeRow]:
        """Yield a row for each value, batch by batch, of the component or of the operations alone."""
        inputs, length = self.subject.inputs(arrays)
        for batch in self._split_batches(values, length):
            nodes = [value.node for value in batch]
            if not alone:
                yield from self._compare_batch(
                    batch, with_outputs(self.subject.program, nodes), inputs, length
                )
                continue
            program, sources = cut_out(self.subject.program, nodes)
            received: list[Array] = []
            if sources:
                whole = with_outputs(self.subject.program, list(sources.values()))
                self.progress(f"PyTorch float64: what {len(sources)} inputs of operations are")
                truth = run_eager(whole, self.subject.weights, inputs, list(sources.values()), torch.float64)
                received = [truth[source] for source in sources.values()]
            rounded = [a.astype(np.float32) if a.dtype == np.float64 else a for a in (*inputs, *received)]
            yield from self._compare_batch(batch, program, rounded, length)

    def _split_batches(self, values: Sequence[Value], length: int) -> Iterator[list[Value]]:
        """Yield batches of values that fit in memory."""
        size = length if self.subject.length == "exact" else self.subject.bucket
        batch: list[Value] = []
        batch_bytes = 0
        for value in values:
            value_bytes = 4 * math.prod(value.shape(size))
            if batch and batch_bytes + value_bytes > self.batch_bytes:
                yield batch
                batch, batch_bytes = [], 0
            batch.append(value)
            batch_bytes += value_bytes
        if batch:
            yield batch

    def _compare_batch(
        self, values: Sequence[Value], program: Any, inputs: Sequence[Array], length: int
    ) -> Iterator[ProbeRow]:
        """Yield a row for each value: the outputs of a program, compiled and in PyTorch."""
        nodes = [value.node for value in values]
        self.progress(f"PyTorch float32 and float64: {len(nodes)} values")
        pytorch, truth = (
            run_eager(program, self.subject.weights, inputs, nodes, dtype)
            for dtype in (torch.float32, torch.float64)
        )
        with TemporaryDirectory(prefix="kokoro-probe-") as folder:
            self.progress(f"compiling {self.subject.component} with {len(values)} values as outputs")
            outputs = CompiledSubject(self.subject, program, Path(folder)).run(inputs, self.threads)
            for value, output in zip(values, outputs, strict=True):
                ours, single, double = (
                    reduce_moments(array)
                    if value.operation == "moments"
                    else self.subject.valid(value, array, length)
                    for array in (output, pytorch[value.node], truth[value.node])
                )
                yield compare(value, ours, single, double, self.tolerance)
