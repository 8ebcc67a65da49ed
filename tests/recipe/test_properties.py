"""Properties of recipes: the meaning ignores the notation, and typos get the right suggestion."""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.yaml_file import YamlText, parse_yaml
from kokoro_tvm.recipe import ModelFile, PassContext, TargetFile, to_yaml
from kokoro_tvm.recipe.resolved import resolve
from kokoro_tvm.recipe.validate import validate

RECIPES = Path(__file__).parent / "recipes"
MODEL = yaml.safe_load((RECIPES / "toy.yaml").read_text(encoding="utf-8"))
TARGET = yaml.safe_load((RECIPES / "full.yaml").read_text(encoding="utf-8"))
TARGET["gates"] = {  # which are over the model's when a target's recipe is checked
    name: gate | TARGET["gates"].get(name, {}) for name, gate in MODEL["gates"].items()
} | {"enforce": False}
LETTERS = string.ascii_lowercase + string.digits + "_"


def _read(text: str, kind: type[Any]) -> Any:
    return validate(parse_yaml(YamlText("x.yaml", text)), kind)


def _shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: _shuffled(value[key], chance) for key in keys}
    return [_shuffled(item, chance) for item in value] if isinstance(value, list) else value


def _written(value: Any, chance: random.Random, comments: list[str]) -> str:
    """Return the value as YAML, block or flow style, with random comments and blank lines."""
    flow = chance.choice([False, None])
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10**6, default_flow_style=flow)
    lines = []
    for line in text.splitlines():
        if comments and chance.random() < 0.3:
            lines.append(" " * chance.randrange(9) + "# " + chance.choice(comments))
        if chance.random() < 0.1:
            lines.append("")
        lines.append(line + ("  # " + chance.choice(comments) if comments and chance.random() < 0.3 else ""))
    return "\n".join(lines)


@given(
    chance=st.randoms(use_true_random=False),
    comments=st.lists(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=30), max_size=5),
)
@settings(deadline=None, max_examples=40)
@example(chance=random.Random(1), comments=["model: other", "{[&*!|>'\"", "---"])
def test_resolve_ignores_key_order_and_comments(chance: random.Random, comments: list[str]) -> None:
    expected = resolve(
        "x", TargetFile.model_validate(_tuples(TARGET)), ModelFile.model_validate(_tuples(MODEL))
    )
    target = _read(_written(_shuffled(TARGET, chance), chance, comments), TargetFile)
    model = _read(_written(_shuffled(MODEL, chance), chance, comments), ModelFile)
    result = resolve("x", target, model)
    assert result == expected
    assert to_yaml(result) == to_yaml(expected)  # the order of what is printed and digested, too


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _keys(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of every key but those of a TVM config and of a list of files."""
    if isinstance(value, list):
        return [result for index, item in enumerate(value) for result in _keys(item, (*path, index))]
    if not isinstance(value, dict) or path[-1:] == ("files",):
        return []
    if path[-1:] == ("config",) and "sha256" not in value:
        return []
    return [result for key, item in value.items() for result in ((*path, key), *_keys(item, (*path, key)))]


def _slip(word: str, kind: str, at: int, letter: str) -> str:
    """Return the word with one letter added, dropped, replaced or swapped with the next."""
    at %= len(word) + (kind == "add")
    if kind == "add":
        return word[:at] + letter + word[at:]
    if kind == "drop":
        return word[:at] + word[at + 1 :]
    if kind == "replace":
        return word[:at] + letter + word[at + 1 :]
    return word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]


def _slips(word: str) -> set[str]:
    places = range(len(word) + 1)
    kinds = ("add", "drop", "replace", "swap")
    return {_slip(word, kind, at, letter) for kind in kinds for at in places for letter in LETTERS}


@given(
    which=st.sampled_from(
        [(kind, path) for kind, data in ((TargetFile, TARGET), (ModelFile, MODEL)) for path in _keys(data)]
    ),
    kind=st.sampled_from(["add", "drop", "replace", "swap"]),
    at=st.integers(0, 40),
    letter=st.sampled_from(LETTERS),
)
@settings(deadline=None, max_examples=200)
def test_validate_suggests_the_key_of_a_typo(
    which: tuple[type[Any], tuple[Any, ...]], kind: str, at: int, letter: str
) -> None:
    file, path = which
    *above, key = path
    typo = _slip(key, kind, at, letter)
    data = _tuples(TARGET if file is TargetFile else MODEL)
    spoiled = _renamed(data, above, key, typo)
    if spoiled is None:
        return  # the slip made the word itself or a neighbour's key
    with pytest.raises(RecipeError) as caught:
        _read(yaml.safe_dump(_lists(spoiled), sort_keys=False, allow_unicode=True), file)
    message = str(caught.value).split("\n")[0]
    assert f"`{typo}`" in message
    suggestion = message.split("did you mean `")[1].removesuffix("`?")
    assert suggestion == key or typo in _slips(suggestion)  # `saeed` is as near to `seed` as to `speed`


def _renamed(data: Any, above: list[Any], key: str, typo: str) -> Any:
    if above:
        inner = _renamed(data[above[0]], above[1:], key, typo)
        if inner is None:
            return None
        if isinstance(data, tuple):
            return tuple(inner if index == above[0] else item for index, item in enumerate(data))
        return {name: inner if name == above[0] else item for name, item in data.items()}
    if typo in data:
        return None
    return {typo if name == key else name: item for name, item in data.items()}


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


_texts = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=40)


@given(st.dictionaries(_texts, st.one_of(st.booleans(), st.integers(-9, 9), _texts, st.floats(-9, 9))))
@settings(deadline=None)
def test_to_yaml_round_trips_text(config: dict[str, Any]) -> None:
    context = PassContext(config=config)
    assert _read(to_yaml(context), PassContext) == context
