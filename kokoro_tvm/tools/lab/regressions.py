"""The kernels of a bundle beside those of another one that was measured in turns with it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.session.profiler import Call, Kernel, kernels_of, record_calls, summarize
from kokoro_tvm.runtime.session.session import Session

__all__ = ["KernelComparison", "KernelGroup", "Regressions", "compare", "measure", "seconds_by_kind"]

SLOWER = 1.05
"""Of the time before: from there on a kernel counts as slower."""
_SMALL = 0.01  # share of an utterance below which the clock says nothing


@dataclass(frozen=True, order=True)
class KernelGroup:
    """Kernels that do the same work, whatever number a build gave them: those of one operation of a component
    with as many FLOP for each step of the result (0 where they are not counted)."""

    component: str
    operation: str
    flops_per_step: float

    def __str__(self) -> str:
        counted = f", {self.flops_per_step:,.0f} FLOP a step" if self.flops_per_step else ""
        return f"{self.component} {self.operation}{counted}"


@dataclass(frozen=True)
class KernelComparison:
    """A kind of kernel in both bundles: median and least seconds of an utterance, and its share now."""

    kind: KernelGroup
    before_s: float
    now_s: float
    least_before_s: float
    least_now_s: float
    share: float

    @property
    def ratio(self) -> float:
        """Of the medians; below 1 is faster now."""
        return self.now_s / self.before_s

    @property
    def slower(self) -> bool:
        """Whether medians and minima agree on it: what else the machine did slows either, seldom both."""
        return min(self.ratio, self.least_now_s / self.least_before_s) > SLOWER


def seconds_by_kind(
    calls: Sequence[Call], kernels: Mapping[tuple[str, str], Kernel]
) -> dict[KernelGroup, float]:
    """Seconds that one utterance spent in each kind of kernel."""
    found: dict[KernelGroup, float] = {}
    for usage in summarize(calls, dict(kernels)):
        known = kernels.get((usage.component, f"{usage.component}_{usage.name}"))
        per_step = known.flops_per_step if known else None
        kind = KernelGroup(usage.component, usage.operation, per_step or 0.0)
        found[kind] = found.get(kind, 0.0) + usage.seconds
    return found


@dataclass(frozen=True)
class Regressions:
    """Kinds of kernels that both bundles have and that take a hundredth of the utterance now, longest first;
    and those that only one has, which cannot be compared."""

    kernels: tuple[KernelComparison, ...]
    alone: tuple[KernelGroup, ...]

    def require(self, against: Path) -> None:
        """Raises ValidationError where kernels got slower, with their names."""
        slower = [each for each in self.kernels if each.slower]
        if slower:
            names = "; ".join(f"{each.kind}: {each.ratio:.2f}" for each in slower)
            raise ValidationError(
                f"Kernels take more than {SLOWER} of the time that those of {against} take: {names}. Medians "
                "and minima agree. If the machine did other work meanwhile, measure again with a higher "
                "--repeat."
            )


def measure(
    before: Synthesizer, now: Synthesizer, phonemes: Sequence[str], voice: str | None, repeat: int
) -> Regressions:
    """Speaks with the bundle before and the one now, `repeat` times in turns, recording every kernel."""
    runs: tuple[list[dict[KernelGroup, float]], list[dict[KernelGroup, float]]] = ([], [])
    for number in range(repeat + 1):
        sides = list(zip((before, now), runs, strict=True))
        for synthesizer, found in sides if number % 2 else reversed(sides):
            session = synthesizer.runner
            assert isinstance(session, Session)
            with record_calls(session) as calls:
                synthesizer.from_phonemes(list(phonemes), voice=voice)
            if number:  # the first maps pages and fills caches
                found.append(seconds_by_kind(calls, kernels_of(session)))
    return compare(*runs)


def compare(
    before: Sequence[Mapping[KernelGroup, float]], now: Sequence[Mapping[KernelGroup, float]]
) -> Regressions:
    """Seconds of every kind of kernel; `before` and `now` are utterances, measured in turns."""
    whole = statistics.median(sum(run.values()) for run in now)
    both = set(before[0]) & set(now[0])
    found = [_comparison(kind, before, now, whole) for kind in both]
    alone = (set(before[0]) | set(now[0])) - both
    shown = sorted((c for c in found if c.share >= _SMALL), key=lambda c: -c.now_s)
    return Regressions(tuple(shown), tuple(sorted(alone)))


def _comparison(
    kind: KernelGroup,
    before: Sequence[Mapping[KernelGroup, float]],
    now: Sequence[Mapping[KernelGroup, float]],
    whole: float,
) -> KernelComparison:
    earlier, later = [run[kind] for run in before], [run[kind] for run in now]
    median = statistics.median(later)
    return KernelComparison(
        kind, statistics.median(earlier), median, min(earlier), min(later), share=median / whole
    )
