"""Schedules, files beside the recipes that choose how single layers are computed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedules import write_schedule

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.recipe import (
    LayerChoice,
    Schedule,
    choose_layers,
    load_recipe,
    to_yaml,
)

FEATURES = ("sse2", "avx2", "fma")
LAYER = "conv1d 8->8 k3 d1 float32 8x16"
SCHEDULE = Schedule.model_validate(
    {
        "features": FEATURES,
        "measured_on": "a CPU",
        "components": {"decoder": {LAYER: {"outputs": 4, "taps": 3, "tiles": 8}}},
    }
)


def test_load_recipe_reads_a_written_schedule(root: Path) -> None:
    assert load_recipe("here", root).schedules == ()
    path = write_schedule(root, "znver5", SCHEDULE)
    for name in ("here", "full"):
        recipe = load_recipe(name, root)
        assert recipe.schedules == (SCHEDULE,)
        assert f"{LAYER}: {{outputs: 4, taps: 3, tiles: 8}}" in to_yaml(recipe)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@given(st.sets(st.sampled_from([*FEATURES, "avx512f", "neon"])))
def test_choose_layers_requires_equal_features(features: set[str]) -> None:
    expected = {LAYER: LayerChoice(outputs=4, taps=3, tiles=8)} if features == set(FEATURES) else {}
    assert choose_layers([SCHEDULE], sorted(features), "decoder") == expected
    assert choose_layers([SCHEDULE], sorted(features), "f0n") == {}


def test_read_schedules_refuses_two_for_the_same_features(root: Path) -> None:
    write_schedule(root, "znver5", SCHEDULE)
    write_schedule(root, "another", SCHEDULE.model_copy(update={"features": FEATURES[::-1]}))
    with pytest.raises(RecipeError, match=r"another\.json and .*znver5.* are for the same CPU features"):
        load_recipe("here", root)


@pytest.mark.parametrize(
    ("change", "result"),
    [
        (("tiles", "tilse"), "unknown key `tilse` in .*; did you mean `tiles`?"),
        (('"tiles": 8', '"tiles": 0'), "0 is too small; the least is 1"),
        (('"tiles": 8', '"tiles": "8"'), "expected a whole number, found `8`"),
        (('"decoder"', '"decodre"'), "decodre"),
        (('"taps": 3,', ""), "lacks the key `taps`"),
        (("}", "]"), "not valid YAML"),
        (('"sse2",', "2,"), "expected text"),
    ],
)
def test_read_schedules_reports_the_place_of_a_fault(
    root: Path, change: tuple[str, str], result: str
) -> None:
    path = write_schedule(root, "znver5", SCHEDULE)
    text = json.dumps(json.loads(path.read_text(encoding="utf-8")), indent=1)
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(RecipeError, match=rf"{path.name}:\d+:\d+: .*{result}"):
        load_recipe("here", root)
