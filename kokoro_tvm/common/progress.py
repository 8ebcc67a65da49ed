"""The columns of every progress bar on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


def progress_columns() -> list[ProgressColumn]:
    """Return the columns: what is done, a bar, the share, and the time that is left."""
    # rich takes 60 ms to import, and most commands show no progress.
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return [
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
    ]
