"""Choice among the forms that rules propose: doubts, costs and ties."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from small_languages import rules

from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
from kokoro_tvm.runtime.text.frontend.normalization.scanner import Choice, TagFunction, Verbalizer
from kokoro_tvm.runtime.text.frontend.source import SourceText


def read(language: LanguageRules, text: str, tag: TagFunction | None = None) -> str:
    source = SourceText.of(text)
    return source.apply_edits(Verbalizer(language, tag=tag).scan(source).edits).text


SAINT, STREET = ("saint", "St", "Saint"), ("street", "St", "Street")


def test_choice_prefers_the_earlier_rule_at_equal_cost() -> None:
    assert read(rules(SAINT, STREET), "St Ann") == "Saint Ann"


@pytest.mark.parametrize(
    ("condition", "doubted", "other"),
    [
        ({"after": "(?:Elm )$"}, "Elm St is", "Oak St is"),
        ({"before": " is"}, "Elm St is", "Elm St was"),
        ({"near": "road"}, "St is a road", "St is a path"),
        ({"unless": "road"}, "St is a path", "St is a road"),
        ({"after": "(?:Elm )$", "before": " is"}, "Elm St is", "Elm St was"),
    ],
)
def test_doubt_holds_in_its_context(condition: Mapping[str, str], doubted: str, other: str) -> None:
    language = rules(SAINT, STREET, doubts=({"kind": "saint", "cost": 1, **condition},))
    assert read(language, doubted) == doubted.replace("St", "Street")
    assert read(language, other) == other.replace("St", "Saint")


def test_doubt_looks_at_the_next_part_of_speech() -> None:
    language = rules(SAINT, STREET, doubts=({"kind": "saint", "cost": 1, "next": ["VBZ"]},))
    asked = []

    def tag(text: str) -> dict[int, str]:
        asked.append(text)
        return {3: "VBZ" if "is" in text else "NNP"}

    assert read(language, "St is St is", tag) == "Street is Saint is"
    assert read(language, "St Ann", tag) == "Saint Ann"
    assert asked == ["St is St is", "St Ann"], "a text is tagged once"
    assert read(language, "St is") == "Saint is"


def test_form_is_kept_if_its_doubts_cost_more() -> None:
    for cost, spoken in ((1, "Saint Ann"), (2, "St Ann")):
        language = rules(SAINT, doubts=({"kind": "saint", "cost": cost, "before": " "},))
        assert read(language, "St Ann") == spoken


def test_costs_of_the_whole_path_count() -> None:
    """The long form is dearer than the short one, but cheaper than both short ones."""
    long, short = ("long", "ab cd", "long"), ("short", "ab|cd", "short")
    doubts = ({"kind": "long", "cost": 1}, {"kind": "short", "cost": 1})
    assert read(rules(short, long, doubts=doubts), "ab cd") == "long"


def test_doubt_about_a_lone_form_looks_at_other_places() -> None:
    """A form beside another one of the kind is certain; its own parts are not another one."""
    language = rules(("cup", r"(?P<n>\d) c|c", "cup"), doubts=({"kind": "cup", "cost": 3, "alone": ["cup"]},))
    assert read(language, "2 c x") == "two c x"
    assert read(language, "2 c x 3 c") == "cup x cup"


def test_scan_records_proposals_with_their_doubts() -> None:
    language = rules(SAINT, STREET, doubts=({"kind": "saint", "cost": 1, "before": " is"},))
    (choice,) = Verbalizer(language).scan(SourceText.of("St is")).choices
    assert isinstance(choice, Choice) and choice.start == 0
    kinds = [(p.rule.kind if p.rule else "", p.cost, len(p.doubts)) for p in choice.proposals]
    assert kinds == [("saint", 1, 1), ("street", 0, 0)]
    assert choice.chosen is choice.proposals[1]
