"""What `kokoro-tvm profile --against BUNDLE` shows: its kernels beside those of another bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.cli import _output
from kokoro_tvm.errors import ValidationError

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.lab.regressions import Comparison, Kind
    from kokoro_tvm.runtime import Synthesizer

__all__ = ["check", "measure", "show", "table", "to_json"]


def measure(
    bundles: tuple[Synthesizer, Synthesizer], phonemes: Sequence[str], voice: str | None, repeat: int
) -> tuple[list[Comparison], list[Kind]]:
    """Speaks with the bundle before and the one now, `repeat` times in turns, recording every kernel."""
    from kokoro_tvm.lab.regressions import compare, seconds_by_kind
    from kokoro_tvm.runtime.session.profiler import kernels_of, recorded
    from kokoro_tvm.runtime.session.session import Session

    runs: tuple[list[dict[Kind, float]], list[dict[Kind, float]]] = ([], [])
    for number in range(repeat + 1):
        sides = list(zip(bundles, runs, strict=True))
        for synthesizer, found in sides if number % 2 else reversed(sides):
            session = synthesizer.runner
            assert isinstance(session, Session)
            with recorded(session) as calls:
                synthesizer.from_phonemes(list(phonemes), voice=voice)
            if number:  # the first maps pages and fills caches
                found.append(seconds_by_kind(calls, kernels_of(session)))
    return compare(*runs)


def show(found: tuple[list[Comparison], list[Kind]], bundle: Path, against: Path, repeat: int) -> None:
    """Prints the table, and below it the kernels that only one of the bundles has."""
    comparisons, alone = found
    console = _output.console()
    console.print(f"{bundle} beside {against}, {repeat} utterances each, in turns:", soft_wrap=True)
    console.print(table(comparisons))
    if alone:
        console.print(f"Only one of them has: {'; '.join(map(str, alone))}.", soft_wrap=True)


def table(comparisons: Sequence[Comparison]) -> Table:
    """A row for each kind of kernel that takes a hundredth of the utterance, longest first."""
    made = _output.table("kernels", ("kFLOP a step", "ms before", "now", "ratio", "minima", "share"))
    for each in comparisons:
        made.add_row(
            f"{each.kind.component} {each.kind.operation}",
            f"{each.kind.flops_per_step / 1e3:,.0f}" if each.kind.flops_per_step else "—",
            f"{each.before_s * 1e3:.2f}",
            f"{each.now_s * 1e3:.2f}",
            f"{each.ratio:.2f}",
            f"{each.least_now_s / each.least_before_s:.2f}",
            f"{each.share:.1%}",
            style="bold" if each.slower else None,
        )
    return made


def check(found: tuple[list[Comparison], list[Kind]], against: Path) -> None:
    """Raises ValidationError where kernels got slower, with their names."""
    slower = [each for each in found[0] if each.slower]
    if slower:
        names = "; ".join(f"{each.kind}: {each.ratio:.2f}" for each in slower)
        raise ValidationError(
            f"Kernels take more than 1.05 of the time that those of {against} take: {names}. Medians and "
            "minima agree. If the machine did other work meanwhile, measure again with a higher --repeat."
        )


def to_json(found: tuple[list[Comparison], list[Kind]]) -> dict[str, Any]:
    """All numbers: `kernels`, and `alone`, those that only one of the bundles has."""
    comparisons, alone = found
    kernels = [asdict(each) | {"ratio": each.ratio, "slower": each.slower} for each in comparisons]
    return {"kernels": kernels, "alone": [asdict(kind) for kind in alone]}
