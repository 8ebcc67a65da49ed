"""Where every value of a resolved recipe is written, and which values it overrides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kokoro_tvm.common.words import truncate
from kokoro_tvm.common.yaml_file import Span, YamlNode
from kokoro_tvm.recipe.load import LoadedRecipe

_Path = tuple[str, ...]


@dataclass(frozen=True)
class Origin:
    """A value of a recipe and its places.

    Attributes:
        path: `gates.decoder.min_snr_db`.
        value: The value in YAML.
        places: Where it is written, then what it overrides, the nearest first; empty for a default.
    """

    path: str
    value: str
    places: tuple[Span, ...]


def list_origins(loaded: LoadedRecipe) -> Iterator[Origin]:
    """Yield every value of the recipe but its name and the schedules, in the order of its fields."""
    for path, value in _walk_leaves(loaded.recipe.model_dump(mode="json", exclude={"name", "schedules"})):
        places = dict.fromkeys(
            span for node in _find_nodes(loaded, path, value) for span in _list_spans(node)
        )
        shown = json.dumps(value, ensure_ascii=False).replace('"', "")
        yield Origin(".".join(path), truncate(shown), tuple(places))


def _walk_leaves(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    """Yield scalars and lists with their paths."""
    if not isinstance(value, Mapping) or not value:
        yield path, value
        return
    for key, inner in value.items():
        yield from _walk_leaves(inner, (*path, key))


def _find_nodes(loaded: LoadedRecipe, path: _Path, value: Any) -> Iterator[YamlNode]:
    """Yield what the target's recipe says of a field, then what the model's does."""
    in_target, in_model = path, path
    if path == ("judged",):
        in_target, in_model = ("utterances",), ()
    elif path[0] == "components" and path[-1] == "patches":
        in_target = ("patches", path[1])
    elif path == ("utterances",):
        in_target = ()
    for tree, way in ((loaded.target, in_target), (loaded.model, in_model)):
        node = tree.get(*way) if way else None
        # A target's null may mean that the model's holds.
        if node is not None and (value is None or node.data() is not None):
            yield node


def _list_spans(node: YamlNode | None) -> Iterator[Span]:
    """Yield the place of a value, then those of the values that it replaced."""
    while node is not None:
        yield node.span
        node = node.base
