"""Writes the table of machines in docs/performance.md, which says which rows are of earlier kernels.

    .venv/bin/python docs/machines_table.py

marks the rows again, after kernels changed; `docs/refresh.py bench` puts new ones in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from markdown_tables import merge, put, rows_of

from kokoro_tvm.tools.bench.kernels import kernels_digest
from kokoro_tvm.tools.bench.results import Result

__all__ = ["PAGE", "marked", "put_machines"]

PAGE = Path(__file__).with_name("performance.md")
_TABLE = "bench-machines"
_KERNELS = 3  # the column
_EARLIER = ", earlier"


def put_machines(page: Path, results: Iterable[Result]) -> None:
    """The rows of results in the place of those of the same machine and bundle, all of them marked."""
    for result in results:
        merge(page, _TABLE, 2, _rows(result))
    put(page, _TABLE, marked(rows_of(page, _TABLE)))


def marked(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """The table's rows, each with its kernels' digest, and whether today's are others."""
    today, (head, *body) = f"`{kernels_digest()}`", rows
    yield head
    for row in body:
        kernels = row[_KERNELS].removesuffix(_EARLIER)
        yield [*row[:_KERNELS], kernels if kernels == today else kernels + _EARLIER, *row[_KERNELS + 1 :]]


def _rows(result: Result) -> Iterator[list[str]]:
    """Of every bundle on this machine: median seconds, and their share of the time of its best peer."""
    machine = f"{result.machine.cpu}, {result.threads} threads"
    machine += f", peers held to {result.isa.upper()}" if result.isa else ""
    kernels = f"`{result.kernels}`" if result.kernels else "not recorded"
    titles = {system.name: system.title for system in result.systems}
    for system in (system for system in result.systems if system.ours):
        against = "best float32 peer" if system.precision == "float32" else "best peer"
        found = {c.text: c for c in result.comparisons if (c.name, c.against) == (system.name, against)}
        cells = [
            f"{timed.median_s:.2f} s, {beside.ratio:.2f} of {titles[beside.of]}"
            if (timed := system.on(text)) and (beside := found.get(text))
            else "not run"
            for text in ("short", "medium", "long")
        ]
        yield [machine, f"`{system.name}`", result.date, kernels, *cells]


if __name__ == "__main__":
    put_machines(PAGE, [])
