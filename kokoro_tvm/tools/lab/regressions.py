"""Compare the kernels of two bundles that were measured in turns."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.session.profiler import Call, Kernel, kernels_of, record_calls, summarize
from kokoro_tvm.runtime.session.session import Session

SLOWER = 1.05
"""Ratio of the time before above which a kernel counts as slower."""
_SMALL = 0.01  # share of an utterance below which the clock says nothing


@dataclass(frozen=True, order=True)
class KernelGroup:
    """Kernels that do the same work: one operation of a component with as many FLOP a step of the result.

    `flops_per_step` is 0 for operations whose FLOP are not counted.
    """

    component: str
    operation: str
    flops_per_step: float

    def __str__(self) -> str:
        """Format as `decoder conv1d, 1,000 FLOP a step`."""
        flops = f", {self.flops_per_step:,.0f} FLOP a step" if self.flops_per_step else ""
        return f"{self.component} {self.operation}{flops}"


GroupSeconds = Mapping[KernelGroup, float]
"""Seconds of one utterance by group."""


@dataclass(frozen=True)
class KernelComparison:
    """Median and minimum seconds of a group in both bundles, and its share of an utterance now."""

    kind: KernelGroup
    before_s: float
    now_s: float
    least_before_s: float
    least_now_s: float
    share: float

    @property
    def ratio(self) -> float:
        """Median now by median before; below 1 is faster."""
        return self.now_s / self.before_s

    @property
    def slower(self) -> bool:
        """True if both medians and minima say so: other work on the machine rarely slows both."""
        return min(self.ratio, self.least_now_s / self.least_before_s) > SLOWER


@dataclass(frozen=True)
class Regressions:
    """Groups of both bundles with at least 1 % of an utterance, longest first, and those of only one."""

    kernels: tuple[KernelComparison, ...]
    alone: tuple[KernelGroup, ...]

    def require(self, against: Path) -> None:
        """Raise ValidationError with the names of slower kernels, if there are any."""
        slower = "; ".join(f"{c.kind}: {c.ratio:.2f}" for c in self.kernels if c.slower)
        if slower:
            raise ValidationError(
                f"Kernels take more than {SLOWER} of the time that those of {against} take: {slower}. "
                "Medians and minima agree. If the machine did other work meanwhile, measure again with a "
                "higher --repeat."
            )


def sum_by_group(
    calls: Sequence[Call], kernels: Mapping[tuple[str, str], Kernel]
) -> dict[KernelGroup, float]:
    """Sum up the seconds that one utterance spent in each group of kernels."""
    seconds: dict[KernelGroup, float] = defaultdict(float)
    for usage in summarize(calls, dict(kernels)):
        kernel = kernels.get((usage.component, f"{usage.component}_{usage.name}"))
        flops = (kernel.flops_per_step if kernel else None) or 0.0
        seconds[KernelGroup(usage.component, usage.operation, flops)] += usage.seconds
    return dict(seconds)


def measure(
    before: Synthesizer, now: Synthesizer, phonemes: Sequence[str], voice: str | None, repeat: int
) -> Regressions:
    """Speak with both bundles `repeat` times in turns, record every kernel and compare."""
    runs: tuple[list[GroupSeconds], list[GroupSeconds]] = ([], [])
    for number in range(repeat + 1):
        sides = list(zip((before, now), runs, strict=True))
        for synthesizer, records in sides if number % 2 else reversed(sides):
            session = synthesizer.runner
            assert isinstance(session, Session)
            with record_calls(session) as calls:
                synthesizer.from_phonemes(list(phonemes), voice=voice)
            if number:  # the first run maps pages and fills caches
                records.append(sum_by_group(calls, kernels_of(session)))
    return compare(*runs)


def compare(before: Sequence[GroupSeconds], now: Sequence[GroupSeconds]) -> Regressions:
    """Compare utterances of two bundles, measured in turns."""
    total = statistics.median(sum(run.values()) for run in now)
    both = before[0].keys() & now[0].keys()
    comparisons = []
    for group in both:
        earlier, later = [run[group] for run in before], [run[group] for run in now]
        median = statistics.median(later)
        comparisons.append(
            KernelComparison(
                group, statistics.median(earlier), median, min(earlier), min(later), share=median / total
            )
        )
    large = sorted((c for c in comparisons if c.share >= _SMALL), key=lambda c: -c.now_s)
    return Regressions(tuple(large), tuple(sorted((before[0].keys() | now[0].keys()) - both)))
