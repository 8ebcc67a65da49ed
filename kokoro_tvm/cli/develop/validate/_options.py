"""What the commands of `validate` have in common: options and verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kokoro_tvm.validation.measure.gates import Verdict

__all__ = [
    "HELLO",
    "ComponentOption",
    "SeedOption",
    "SpeedOption",
    "UtteranceOption",
    "chosen_components",
    "span",
    "verdict",
    "words",
]

SpeedOption: TypeAlias = Annotated[
    float, typer.Option("--speed", help="Speed of `--text` and `--phonemes`; above 1 is faster.")
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
        help="Utterance of the recipe whose reference is the input.",
        show_default="the recipe's first",
    ),
]

HELLO = "həlˈO wˈɜɹld."


def verdict(verdicts: Sequence[Verdict], judged: bool) -> str:
    """The verdicts in words; colours only repeat them."""
    failed = ", ".join(f"{v.gate} {v.limit:g}" for v in verdicts if v.status == "failed")
    if not failed:
        return "[green]passed[/]" if judged else "would pass"
    return f"[bold red]FAILED[/] {failed}" if judged else f"would fail: {failed}"


def chosen_components(text: str | None) -> list[str]:
    """The components named, or all. Raises InputError."""
    from kokoro_tvm.common.constants import COMPONENT_AXES
    from kokoro_tvm.common.errors import InputError

    names = list(COMPONENT_AXES) if text is None else words(text)
    for name in names:
        if name not in COMPONENT_AXES:
            raise InputError(f"There is no component {name!r}. There are {', '.join(COMPONENT_AXES)}.")
    return names


def words(text: str) -> list[str]:
    """The words between commas."""
    return [word for part in text.split(",") if (word := part.strip())]


def span(text: str, option: str) -> tuple[int, ...]:
    """Whole numbers above 0 from `1-64,127`, sorted and distinct; none for `none`. Raises InputError."""
    from kokoro_tvm.common.errors import InputError

    if text.strip() == "none":
        return ()
    found: set[int] = set()
    for word in words(text):
        first, dash, last = word.partition("-")
        ends = (first, last if dash else first)
        if not all(end.isdecimal() for end in ends) or not 1 <= int(ends[0]) <= int(ends[1]):
            raise InputError(f"{option} takes lengths such as 1-64,127, or none, not {text!r}.")
        found.update(range(int(ends[0]), int(ends[1]) + 1))
    return tuple(sorted(found))
