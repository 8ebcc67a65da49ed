"""What `kokoro-tvm profile --roofline GPU` shows: the time that a GPU's figures allow a recipe."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.lab.roofline import Gpu, Launch

__all__ = ["show", "table", "to_json"]

SECONDS = (1.5, 6.0, 20.0)
"""Of speech, for which times are given."""
_TOKENS_PER_SECOND = 15  # as English is spoken
_FEW = 0.01  # share below which operations are shown together


def show(recipe: str, gpu_name: str, recipes: Path = Path("recipes")) -> dict[str, Any]:
    """Prints the table; returns all numbers. Raises InputError for an unknown GPU or a recipe without."""
    from rich.console import Console

    from kokoro_tvm.constants import FRAMES_PER_SECOND
    from kokoro_tvm.lab.roofline import gpu, launches
    from kokoro_tvm.recipe import load_recipe

    figures, resolved = gpu(gpu_name), load_recipe(recipe, recipes)
    lengths = [
        {"tokens": round(seconds * _TOKENS_PER_SECOND), "frames": round(seconds * FRAMES_PER_SECOND)}
        for seconds in SECONDS
    ]
    found = dict(zip(SECONDS, launches(resolved, lengths), strict=True))
    console = Console()
    console.print(
        f"{recipe} on {figures.name}, reckoned from its figures ({figures.source}); caches and latency "
        "are left out, so real times are longer.",
        soft_wrap=True,
    )
    console.print(table(found, figures))
    return to_json(found, figures)


def table(found: dict[float, list[Launch]], gpu: Gpu) -> Table:
    """A row for each operation, longest first, for the longest speech; below, sums for each length."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    made.add_column("operation", no_wrap=True)
    for heading in ("launches", "GFLOP", "MB", "ms", "arithmetic", "memory", "launch"):
        made.add_column(heading, justify="right")
    longest = found[max(found)]
    whole = sum(launch.seconds(gpu) for launch in longest)
    names = sorted({launch.operation for launch in longest}, key=lambda name: -_ms(_of(longest, name), gpu))
    shown = [name for name in names if _ms(_of(longest, name), gpu) >= _FEW * whole * 1e3]
    for name in shown:
        made.add_row(name, *_cells(_of(longest, name), gpu))
    if rest := [launch for launch in longest if launch.operation not in shown]:
        made.add_row(f"{len(names) - len(shown)} others", *_cells(rest, gpu))
    for seconds, launches in found.items():
        made.add_row(f"{seconds:g} s of speech", *_cells(launches, gpu), style="bold")
    return made


def _of(launches: Sequence[Launch], operation: str) -> list[Launch]:
    return [launch for launch in launches if launch.operation == operation]


def _ms(launches: Sequence[Launch], gpu: Gpu, bound: str | None = None) -> float:
    return 1e3 * sum(x.seconds(gpu) for x in launches if bound is None or x.bound(gpu) == bound)


def _cells(launches: Sequence[Launch], gpu: Gpu) -> tuple[str, ...]:
    """Time in all, and of it, that of launches which arithmetic, memory and starting them bounds."""
    return (
        f"{len(launches)}",
        f"{sum(launch.flops for launch in launches) / 1e9:.1f}",
        f"{sum(launch.bytes for launch in launches) / 1e6:.0f}",
        f"{_ms(launches, gpu):.2f}",
        *(f"{_ms(launches, gpu, bound):.2f}" for bound in ("arithmetic", "memory", "launch")),
    )


def to_json(found: dict[float, list[Launch]], gpu: Gpu) -> dict[str, Any]:
    """All numbers: the GPU's figures, and every launch for each length with its time and bound."""
    return {
        "gpu": dataclasses.asdict(gpu),
        "speech": [
            {
                "seconds": seconds,
                "ms": _ms(launches, gpu),
                "launches": [
                    dataclasses.asdict(launch) | {"ms": _ms([launch], gpu), "bound": launch.bound(gpu)}
                    for launch in launches
                ],
            }
            for seconds, launches in found.items()
        ],
    }
