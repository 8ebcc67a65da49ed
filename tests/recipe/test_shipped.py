"""The recipes in recipes/, their published schema and their documentation."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from recipe_fields import documented_fields

from kokoro_tvm.recipe import build_schema, list_recipes, load_recipe, read_recipe, recipe_files

REPOSITORY = Path(__file__).parents[2]
ROOT = REPOSITORY / "recipes"
PACKAGE = REPOSITORY / "kokoro_tvm"


@pytest.mark.parametrize("name", list_recipes(ROOT))
def test_shipped_recipe_resolves(name: str) -> None:
    recipe = load_recipe(name, ROOT)
    assert recipe.artifacts()
    assert [source.kind for source in recipe.checkpoint.sources] == ["huggingface", "npm"]


@pytest.mark.parametrize("name", list_recipes(ROOT))
def test_shipped_recipe_equals_its_merged_files(name: str, tmp_path: Path) -> None:
    loaded = read_recipe(name, ROOT)
    for file, tree in ((name, loaded.target), (loaded.recipe.model, loaded.model)):
        text = yaml.safe_dump(tree.data(), allow_unicode=True)
        (tmp_path / f"{file}.yaml").write_text(text, encoding="utf-8")
    assert load_recipe(name, tmp_path) == loaded.recipe


def test_shipped_utterances_use_the_vocabulary() -> None:
    recipe = load_recipe("cpu", ROOT)
    config = json.loads((PACKAGE / "model" / recipe.checkpoint.config.file).read_text(encoding="utf-8"))
    for utterance in recipe.utterances:
        assert set(utterance.phonemes) <= set(config["vocab"]), utterance.name
    assert len({utterance.voice for utterance in recipe.utterances}) >= 2
    assert max(len(utterance.phonemes) for utterance in recipe.utterances) > 300


@pytest.mark.parametrize("path", recipe_files(ROOT), ids=lambda path: path.name)
def test_shipped_recipe_names_its_schema(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=schema.json\n")


def test_published_schema_is_current() -> None:
    # To update it: kokoro-tvm recipe schema > recipes/schema.json
    assert json.loads((ROOT / "schema.json").read_text(encoding="utf-8")) == build_schema()


def test_every_field_is_documented() -> None:
    page = (REPOSITORY / "docs/recipes.md").read_text(encoding="utf-8").partition("## Target recipes")[2]
    rows = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    target, model = (
        {field.path for field in documented_fields("TargetFile")},
        {field.path for field in documented_fields("ModelFile")},
    )
    assert set(rows) == target | model
    assert len(rows) == len(target) + len(model)


def test_schema_describes_every_field() -> None:
    for name, record in build_schema()["$defs"].items():
        for field, what in record.get("properties", {}).items():
            assert what.get("description"), f"{name}.{field}"


def test_docs_list_every_recipe() -> None:
    page = (REPOSITORY / "docs" / "recipes.md").read_text(encoding="utf-8")
    table = page.partition("| recipe | for |")[2].partition("```")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    assert sorted(re.findall(r"`([^`]+)`", " ".join(cells))) == sorted(list_recipes(ROOT))
