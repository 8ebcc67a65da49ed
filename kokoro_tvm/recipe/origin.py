"""Where every value of a resolved recipe is written, file and line, and what it stands in place of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kokoro_tvm.recipe._source import Span
from kokoro_tvm.recipe._yaml import YamlNode
from kokoro_tvm.recipe.load import Loaded

__all__ = ["Origin", "origins"]

_WIDEST = 40  # characters of a value that are shown
_Path = tuple[str, ...]


@dataclass(frozen=True)
class Origin:
    """A value (`gates.decoder.min_snr_db`), as YAML has it, and where it is written; then what it overrides,
    the nearest first. No place: it is the default."""

    path: str
    value: str
    places: tuple[Span, ...]


def origins(loaded: Loaded) -> Iterator[Origin]:
    """Every value of the recipe but its name and the schedules, in the order in which they are shown."""
    for path, value in _leaves(loaded.recipe.model_dump(mode="json", exclude={"name", "schedules"})):
        places = tuple(span for node in _nodes(loaded, path, value) for span in _chain(node))
        shown = json.dumps(value, ensure_ascii=False).replace('"', "")
        yield Origin(".".join(path), shown if len(shown) <= _WIDEST else f"{shown[:_WIDEST]}…", places)


def _leaves(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    """Scalars and lists, each with its path."""
    if not isinstance(value, Mapping) or not value:
        yield path, value
        return
    for key, inner in value.items():
        yield from _leaves(inner, (*path, key))


def _nodes(loaded: Loaded, path: _Path, value: Any) -> Iterator[YamlNode]:
    """What the target's recipe says of it, then what the model's does."""
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


def _chain(node: YamlNode) -> Iterator[Span]:
    yield node.span
    if node.over is not None:
        yield from _chain(node.over)
