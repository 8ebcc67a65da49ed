"""kokoro-tvm doctor: whether this machine has what a build needs, and what to do where it has not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.telling.doctor import Finding

__all__ = ["register"]

_STYLES = {"fine": "green", "note": "yellow", "wrong": "bold red"}


def register(app: typer.Typer) -> None:
    """Adds the command `doctor`."""
    app.command("doctor")(doctor)


def doctor(json: JsonOption = False, root: RootOption = Path()) -> None:
    """Tell whether this machine is fit for a build.

    Versions, compiler, linker, processor, memory, disk: what is fine, what is not, what to do. Exit status 1
    where something that a build needs is wrong.
    """
    from dataclasses import asdict

    from kokoro_tvm.cli._output import open_console, print_json
    from kokoro_tvm.telling.doctor import examine
    from kokoro_tvm.telling.machine import gather

    findings = examine(gather(root))
    if json:
        print_json([asdict(f) for f in findings])
    else:
        console = open_console()
        console.print(table(findings))
        console.print(f"\n{_sum(findings)}")
    raise typer.Exit(int(any(f.verdict == "wrong" for f in findings)))


def table(findings: Sequence[Finding]) -> Table:
    """A line for every finding, and one for what to do about it."""
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True)
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for f in findings:
        made.add_row(Text(f.verdict, _STYLES[f.verdict]), Text(f.about), Text(f.told))
        if f.remedy:
            made.add_row("", "", Text(f"→ {f.remedy}", "bold"))
    return made


def _sum(findings: Sequence[Finding]) -> str:
    wrong, notes = (sum(f.verdict == v for f in findings) for v in ("wrong", "note"))
    if wrong:
        return f"{wrong} of {len(findings)} {'is' if wrong == 1 else 'are'} wrong: a build would fail."
    also = f", {notes} of them with a note" if notes else ""
    return f"All {len(findings)} are fine for a build{also}."
