"""Shared parts of the commands of `validate`: options and verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kokoro_tvm.validation.measure.gates import Verdict


SpeedOption: TypeAlias = Annotated[
    float, typer.Option("--speed", help="Speed of `--text` and `--phonemes`: 2 is twice as fast.")
]
SeedOption: TypeAlias = Annotated[
    int, typer.Option("--seed", help="Seed of the noise of `--text` and `--phonemes`.")
]

ComponentOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--component", metavar="NAMES", help="Components, separated by commas.", show_default="all"),
]
UtteranceOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--utterance",
        help="Use the reference of this utterance of the recipe as input.",
        show_default="the recipe's first",
    ),
]

HELLO = "həlˈO wˈɜɹld."


def verdict(verdicts: Sequence[Verdict], judged: bool) -> str:
    """Return the verdicts in words. Colours only repeat them."""
    failed = ", ".join(f"{v.gate} {v.limit:g}" for v in verdicts if v.status == "failed")
    if not failed:
        return "[green]passed[/]" if judged else "would pass"
    return f"[bold red]FAILED[/] {failed}" if judged else f"would fail: {failed}"


def parse_components(text: str | None) -> list[str]:
    """Return the components that are named, or all.

    Raises:
        InputError: There is no such component.
    """
    from kokoro_tvm.common.constants import COMPONENT_AXES
    from kokoro_tvm.common.errors import InputError

    names = list(COMPONENT_AXES) if text is None else split_words(text)
    for name in names:
        if name not in COMPONENT_AXES:
            raise InputError(f"There is no component {name!r}. There are {', '.join(COMPONENT_AXES)}.")
    return names


def split_words(text: str) -> list[str]:
    """Split a text at its commas."""
    return [word for part in text.split(",") if (word := part.strip())]


def parse_lengths(text: str, option: str) -> tuple[int, ...]:
    """Return the sorted lengths of a text such as `1-64,127`, or of `none`.

    Raises:
        InputError: The text of the option cannot be read.
    """
    from kokoro_tvm.common.errors import InputError

    if text.strip() == "none":
        return ()
    lengths: set[int] = set()
    for word in split_words(text):
        first, dash, last = word.partition("-")
        ends = (first, last if dash else first)
        if not all(end.isdecimal() for end in ends) or not 1 <= int(ends[0]) <= int(ends[1]):
            raise InputError(f"{option} takes lengths such as 1-64,127, or none, not {text!r}.")
        lengths.update(range(int(ends[0]), int(ends[1]) + 1))
    return tuple(sorted(lengths))
