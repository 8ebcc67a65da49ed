"""Measures in rounds, in which all systems speak all texts in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from kokoro_tvm.bench.engine import Utterance

__all__ = ["Speaker", "rotated", "run_rounds"]

T = TypeVar("T")


class Speaker(Protocol):
    """Who takes part: a Contender."""

    def speak(self, text: str, utterances: Sequence[Utterance]) -> None: ...


def run_rounds(
    speakers: Sequence[Speaker],
    texts: Mapping[str, Sequence[Utterance]],
    rounds: int,
    between: Callable[[int], None] = lambda number: None,
    log: Callable[[str], None] = lambda line: None,
) -> None:
    """A round of first calls, then `rounds` more: each text by all systems one right after the other.

    What disturbs the machine for a while hurts all alike so, and the system that begins is another one each
    round. `between` is called with the number of each round, 0 for first calls, before it begins.
    """
    for number in range(rounds + 1):
        between(number)
        for name, utterances in texts.items():
            log(f"round {number} of {rounds}: {name}" if number else f"first calls: {name}")
            for speaker in rotated(speakers, number):
                speaker.speak(name, utterances)


def rotated(items: Sequence[T], by: int) -> list[T]:
    """The items with the `by`-th in front, around the end."""
    start = by % len(items) if items else 0
    return [*items[start:], *items[:start]]
