"""Recipes over other recipes: inheritance, gates by name, and the places of values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.yaml_file import YamlNode, YamlText, parse_yaml
from kokoro_tvm.recipe import (
    LoadedRecipe,
    ModelFile,
    Recipe,
    build_schema,
    check_file,
    list_origins,
    list_recipes,
    load_recipe,
    read_recipe,
)
from kokoro_tvm.recipe.merge import merge

RECIPES = Path(__file__).parent / "recipes"
Write = Callable[..., Recipe]


@pytest.fixture
def write(root: Path) -> Write:
    """Writes recipes, the last of which is loaded."""

    def write_recipes(**texts: str) -> Recipe:
        for name, text in texts.items():
            (root / f"{name}.yaml").write_text(text, encoding="utf-8")
        return load_recipe(name, root)

    return write_recipes


def test_extends_inherits_every_other_field(write: Write, root: Path) -> None:
    mine = write(mine="extends: here\nlength: masked\n")
    here = load_recipe("here", root)
    assert mine == here.model_copy(update={"name": "mine", "length": "masked"})


def test_extends_merges_mappings_and_replaces_lists(write: Write) -> None:
    difference = "target: {mattr: []}\nbuckets: {frames: [64]}\ngates: {decoder: {min_snr_db: 1}}\n"
    mine = write(mine=f"extends: full\n{difference}")
    assert (mine.target.mcpu, mine.target.mattr) == ("znver5", ())
    assert (mine.buckets.tokens, mine.buckets.frames) == ((64,), (64,))
    assert (mine.gates.decoder.min_snr_db, mine.gates.decoder.min_gain_db) == (1, 5)


def test_extends_prefers_later_names(write: Write) -> None:
    a, b = "timeout_s: 1\nprecision: bfloat16\n", "timeout_s: 2\n"
    mine = write(_a=a, _b=b, mine="extends: [here, _a, _b]\n")
    assert (mine.timeout_s, mine.precision, mine.model) == (2, "bfloat16", "toy")


def test_list_recipes_leaves_out_parts(write: Write, root: Path) -> None:
    write(_a="timeout_s: 1\n", mine="extends: [here, _a]\n")
    assert list_recipes(root) == ["full", "here", "mine"]
    with pytest.raises(RecipeError, match="no recipe `_a`"):
        load_recipe("_a", root)


def test_extends_is_transitive(write: Write) -> None:
    mine = write(a="extends: here\ntimeout_s: 1\n", b="extends: a\nlength: masked\n", mine="extends: b\n")
    assert (mine.timeout_s, mine.length) == (1, "masked")


def test_extends_takes_null_as_a_value(write: Write) -> None:
    mine = write(
        mine="extends: full\npasses: null\ntarget: {mtriple: null}\ngates: {decoder: {min_gain_db: null}}\n"
    )
    assert mine.passes == ("legalize", "fuse", "narrow")  # the model's
    assert mine.target.mtriple is None
    assert mine.gates.decoder.min_gain_db is None


def test_extends_replaces_a_target_of_another_kind(write: Write) -> None:
    mine = write(mine="extends: here\ntarget: {kind: metal, host: {kind: llvm, mcpu: native}}\n")
    assert mine.target.kind == "metal"


def test_extends_does_not_inherit_sets(write: Write) -> None:
    assert write(mine="extends: full\n").sets == ("nightly",)


def test_extends_merges_model_recipes(write: Write, root: Path) -> None:
    mine = write(
        mine="extends: toy\ncheckpoint: {sources: [{kind: synthetic, size: toy}]}\n",
        other="extends: here\nmodel: mine\n",
    )
    (toy,) = check_file(root / "toy.yaml", root)
    assert isinstance(toy, ModelFile)
    assert [source.kind for source in mine.checkpoint.sources] == ["synthetic"]
    assert mine.checkpoint.voices == toy.checkpoint.voices
    assert mine.model == "mine"


def test_list_origins_returns_all_places_of_a_value(
    write: Write, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    write(
        a="extends: here\ngates:\n  decoder: {min_gain_db: 7}\n",
        mine="extends: a\nbuckets:\n  frames: [512]\ngates: {decoder: {min_gain_db: null}}\n"
        "utterances: [short]\n",
    )
    result = {o.path: (o.value, *map(str, o.places)) for o in list_origins(read_recipe("mine", Path()))}
    assert result["buckets.frames"] == ("[512]", "mine.yaml:3", "here.yaml:4")
    assert result["buckets.tokens"] == ("[128, 512]", "here.yaml:4")
    assert result["gates.decoder.min_gain_db"] == ("null", "mine.yaml:4", "a.yaml:3", "toy.yaml:23")
    assert result["judged"] == ("[short]", "mine.yaml:5")
    assert result["components.bert.patches"] == ("[albert]", "toy.yaml:12")
    assert result["timeout_s"] == ("900",)


def test_gates_extend_sets_of_the_model(write: Write, root: Path) -> None:
    sets = (
        "  loose: {decoder: {min_snr_db: 20, min_gain_db: null}}\n"
        "  looser: {extends: loose, f0n: {min_snr_db: 1}}\n"
    )
    write(
        model=f"extends: toy\ngate_sets:\n  strict: {{decoder: {{min_snr_db: 90}}}}\n{sets}",
        a="extends: here\nmodel: model\ngates: looser\n",
        b="extends: a\ngates: {decoder: {min_snr_db: 21}}\n",
        c="extends: b\ngates: strict\n",
        d="extends: c\ngates: {extends: [strict, loose], speech: {min_snr_db: 3}}\n",
    )
    gates = {name: load_recipe(name, root).gates for name in "abcd"}
    result = {n: (g.decoder.min_snr_db, g.decoder.min_gain_db, g.f0n.min_snr_db) for n, g in gates.items()}
    assert result == {"a": (20, None, 1), "b": (21, None, 1), "c": (90, 10, 80), "d": (20, None, 80)}
    assert gates["d"].speech.min_snr_db == 3


def test_gates_default_to_the_set_of_the_precision(write: Write, root: Path) -> None:
    sets = "{bfloat16: {decoder: {min_snr_db: 20, min_gain_db: null}}, loose: {decoder: {min_snr_db: 1}}}"
    write(
        model=f"extends: toy\ngate_sets: {sets}\n",
        a="extends: here\nmodel: model\nprecision: bfloat16\n",
        b="extends: a\ngates: {decoder: {min_snr_db: 21}}\n",
        c="extends: a\ngates: loose\n",
        d="extends: a\nprecision: float32\n",
    )
    gates = {name: load_recipe(name, root).gates.decoder for name in "abcd"}
    assert {name: (gate.min_snr_db, gate.min_gain_db) for name, gate in gates.items()} == {
        "a": (20, None),
        "b": (21, None),
        "c": (1, 10),
        "d": (30, 10),
    }


def test_check_file_warns_of_gates_for_another_precision(write: Write, root: Path) -> None:
    write(mine="extends: here\nprecision: bfloat16\n", other="extends: mine\ngates: {enforce: true}\n")
    (mine,) = check_file(root / "mine.yaml", root)
    (other,) = check_file(root / "other.yaml", root)
    assert isinstance(mine, LoadedRecipe)
    assert isinstance(other, LoadedRecipe)
    assert str(mine.warning).startswith(
        f"{root / 'mine.yaml'}:2:12: `precision`: the gates are the model's, which are for float32"
    )
    assert other.warning is None


def test_gates_of_a_model_extend_its_own_sets(write: Write) -> None:
    toy = (RECIPES / "toy.yaml").read_text(encoding="utf-8")
    model = toy.replace(
        "gates:\n", "gates: {extends: strict, bert: {min_snr_db: 91}}\ngate_sets:\n strict:\n"
    )
    gates = write(model=model, mine="extends: here\nmodel: model\n").gates
    assert (gates.bert.min_snr_db, gates.f0n.min_snr_db) == (91, 80)


@pytest.mark.parametrize(
    "text",
    [
        "extends: cpu\ngates: bfloat16\n",
        "extends: cpu\nmatrix: {target.mcpu: [a, b], precision: [float32, bfloat16]}\n",
        "model: toy\nbuckets: {tokens: [1], frames: [2]}\nmatrix:\n  target: {a: {kind: llvm, mcpu: b}}\n",
        "extends: cpu\ntarget: {mcpu: znver5}\n",
        "extends: [cpu, wasm]\nbuckets: {frames: [512]}\ngates: {decoder: {min_gain_db: null}}\n",
        "extends: kokoro-82m\ncheckpoint: {sources: [{kind: synthetic}]}\n",
    ],
)
def test_schema_accepts_a_difference(text: str) -> None:
    jsonschema.validate(yaml.safe_load(text), build_schema())


@pytest.mark.parametrize(
    "text",
    [
        "model: kokoro-82m\ntarget: {mcpu: znver5}\n",
        "extends: cpu\ntarget: {mcp: znver5}\n",
        "extends: cpu\nmatrix: {target.mcpu: a}\n",
        "extends: cpu\nmatrix: {target.mcpu: [a], length: 3}\n",
        "extends: cpu\nbuckets: {frames: [9000]}\n",
        "extends: kokoro-82m\ncheckpoint: {sources: [{kind: npm}]}\n",
    ],
)
def test_schema_refuses_faults_in_a_difference(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), build_schema())


_LEAVES = st.none() | st.integers(0, 9) | st.lists(st.integers(0, 9), max_size=2)
_TREES = st.recursive(
    st.dictionaries(st.sampled_from("abc"), _LEAVES, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner | _LEAVES, max_size=3),
    max_leaves=8,
)


def _tree(data: Any) -> YamlNode:
    return parse_yaml(YamlText("x.yaml", json.dumps({"": data})))


def _merged(*data: Any) -> Any:
    tree, *others = map(_tree, data)
    for other in others:
        tree = merge(tree, other)
    return tree.data()


def _leaves(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _leaves(value, (*path, key))
    elif data != {}:
        yield path, data


@given(_TREES, _TREES)
def test_merge_keeps_the_last_value(a: Any, b: Any) -> None:
    below, above = dict(_leaves(_merged(a))), dict(_leaves(_merged(b)))
    merged = dict(_leaves(_merged(a, b)))
    assert {path: merged[path] for path in above} == above
    assert {path: value for path, value in merged.items() if path not in above}.items() <= below.items()


@given(_TREES)
def test_merge_with_nothing_changes_nothing(a: Any) -> None:
    assert _merged({}, a) == _merged(a) == _merged(a, {})
