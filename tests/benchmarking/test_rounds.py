"""Who speaks when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.bench.engine import Utterance
from kokoro_tvm.bench.rounds import rotated, run_rounds


@dataclass
class Voice:
    name: str
    output: list[str]

    def speak(self, text: str, utterances: Sequence[Utterance]) -> None:
        self.output.append(f"{self.name} {text} {len(utterances)}")


def test_systems_take_turns_on_every_text_and_another_begins_each_round() -> None:
    output: list[str] = []
    texts = {"short": [Utterance((0, 0), ())], "minute": [Utterance((0, 0), ())] * 3}
    run_rounds(
        [Voice(name, output) for name in "abc"],
        texts,
        rounds=2,
        between=lambda number: output.append(f"round {number}"),
    )
    assert output == [
        *("round 0", "a short 1", "b short 1", "c short 1", "a minute 3", "b minute 3", "c minute 3"),
        *("round 1", "b short 1", "c short 1", "a short 1", "b minute 3", "c minute 3", "a minute 3"),
        *("round 2", "c short 1", "a short 1", "b short 1", "c minute 3", "a minute 3", "b minute 3"),
    ]


def test_progress_is_reported() -> None:
    result: list[str] = []
    run_rounds([], {"short": [], "long": []}, 1, log=result.append)
    assert result == ["first calls: short", "first calls: long", "round 1 of 1: short", "round 1 of 1: long"]


@given(st.lists(st.integers()), st.integers(0, 100))
def test_rotated(items: list[int], by: int) -> None:
    turned = rotated(items, by)
    assert sorted(turned) == sorted(items)
    assert rotated(turned, -by) == items
    if items:
        assert turned[0] == items[by % len(items)]
