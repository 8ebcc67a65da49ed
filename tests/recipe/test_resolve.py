"""Target recipes resolved over their model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.yaml_file import YamlText, parse_yaml
from kokoro_tvm.recipe import (
    ArtifactSpec,
    FileSource,
    NpmSource,
    Recipe,
    list_recipes,
    load_recipe,
    to_yaml,
)


def test_load_recipe_takes_defaults_from_the_model(root: Path) -> None:
    recipe = load_recipe("here", root)
    assert (recipe.name, recipe.model, recipe.precision, recipe.length) == ("here", "toy", "float32", "exact")
    assert recipe.target.mtriple is None
    assert recipe.passes == ("legalize", "fuse", "narrow")
    assert (recipe.pass_context.opt_level, recipe.pass_context.config) == (3, {})
    assert recipe.gates.decoder.min_gain_db == 10.0
    assert recipe.gates.enforce is True
    assert recipe.timeout_s == 900
    assert recipe.components["f0n"].patches == ()
    assert recipe.utterances[1].speed == 0.9
    assert [type(source) for source in recipe.checkpoint.sources] == [NpmSource, FileSource]


def test_load_recipe_replaces_only_named_values(root: Path) -> None:
    recipe = load_recipe("full", root)
    assert recipe.components["decoder"].patches == ("snake_resblock",)
    assert recipe.components["bert"].patches == ()
    assert recipe.components["duration"].patches == ("lstm",)
    assert recipe.passes == ("fuse", "narrow")
    assert recipe.pass_context.opt_level == 2
    assert recipe.pass_context.config == {"a.number": 2, "relax.name": "no", "tir.vectorize": True}
    assert recipe.gates.decoder.model_dump(exclude_none=True) == {
        "min_snr_db": 30.0,
        "min_gain_db": 5.0,
        "min_magnitude_correlation": 0.9999,
    }
    assert recipe.gates.speech.min_gain_db == 10.0
    assert recipe.gates.f0n.min_snr_db == 70.0
    assert recipe.gates.enforce is False
    assert recipe.timeout_s == 60


def test_null_turns_a_gate_off(root: Path) -> None:
    path = root / "full.yaml"
    path.write_text(path.read_text().replace("{min_gain_db: 5}", "{min_gain_db: null}"))
    gates = load_recipe("full", root).gates
    assert gates.decoder.min_gain_db is None
    assert gates.decoder.model_dump(exclude_none=True) == {
        "min_snr_db": 30.0,
        "min_magnitude_correlation": 0.9999,
    }
    shown = to_yaml(load_recipe("full", root))
    assert "min_gain_db: null" in shown


@pytest.mark.parametrize("gate", ["f0n", "decoder"])
def test_null_in_place_of_a_gate_mapping_is_refused(gate: str, root: Path) -> None:
    path = root / "here.yaml"
    path.write_text(path.read_text() + f"gates: {{{gate}: null}}\n")
    with pytest.raises(RecipeError, match=rf"`gates\.{gate}`: expected a mapping.*found null"):
        load_recipe("here", root)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_load_recipe_takes_precision_from_the_target(precision: str, root: Path) -> None:
    path = root / "here.yaml"
    path.write_text(f"{path.read_text()}precision: {precision}\n")
    assert load_recipe("here", root).precision == precision


def test_load_recipe_names_a_try_by_its_overrides(root: Path) -> None:
    before = load_recipe("here", root)
    recipe = load_recipe("here", root, ["buckets.frames=[512]", "gates.decoder.min_gain_db=null"])
    assert recipe.name == "here+buckets-frames-512+gates-decoder-min-gain-db-null"
    assert (recipe.buckets.tokens, recipe.buckets.frames) == (before.buckets.tokens, (512,))
    assert recipe.gates.decoder.min_gain_db is None
    assert load_recipe("here", root) == before


def test_artifacts_are_in_build_order(root: Path) -> None:
    artifacts = load_recipe("here", root).artifacts()
    assert [artifact.id for artifact in artifacts] == [
        "bert-128", "bert-512", "duration-128", "duration-512", "text_encoder-128", "text_encoder-512",
        "f0n-256", "f0n-5120", "decoder-256", "decoder-5120",
    ]  # fmt: skip
    assert artifacts[-1] == ArtifactSpec(component="decoder", axis="frames", bucket=5120, length="exact")


def test_padded_gates_are_not_enforced(root: Path) -> None:
    path = root / "here.yaml"
    path.write_text(path.read_text().replace("exact", "padded"))
    assert load_recipe("here", root).gates.enforce is False


def test_recipe_is_frozen(root: Path) -> None:
    recipe = load_recipe("here", root)
    with pytest.raises(ValidationError, match="frozen"):
        recipe.length = "masked"  # type: ignore[misc]


def test_load_recipe_finds_the_model_of_a_file_elsewhere(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "mine.yaml"
    shutil.copy(root / "here.yaml", elsewhere)
    assert load_recipe(elsewhere, root).name == "mine"
    assert load_recipe(str(elsewhere), root) == load_recipe(elsewhere, root)


def test_list_recipes_lists_targets_and_unreadable_files(root: Path) -> None:
    (root / "broken.yaml").write_text("model: [")
    assert list_recipes(root) == ["broken", "full", "here"]


def test_list_recipes_refuses_a_folder_without_recipes(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no such folder"):
        list_recipes(tmp_path / "recipes")
    with pytest.raises(RecipeError, match="holds no recipe"):
        list_recipes(tmp_path)


def test_load_recipe_refuses_a_target_as_model(root: Path) -> None:
    (root / "loop.yaml").write_text((root / "here.yaml").read_text().replace("model: toy", "model: full"))
    with pytest.raises(
        RecipeError,
        match=r"loop.yaml:1:8: `model`: `full` is a target recipe, not a model; the only one is `toy`",
    ):
        load_recipe("loop", root)


@pytest.mark.parametrize("name", ["here", "full"])
def test_to_yaml_round_trips_a_recipe(name: str, root: Path) -> None:
    recipe = load_recipe(name, root)
    shown = to_yaml(recipe)
    assert Recipe.model_validate(parse_yaml(YamlText("shown", shown)).data()) == recipe
    assert 'relax.name: "no"' in shown or name == "here"
