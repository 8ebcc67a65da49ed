"""List every field of a recipe file from the JSON Schema, for docs/recipes.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kokoro_tvm.common.constants import COMPONENT_AXES
from kokoro_tvm.common.spec import PATTERNS
from kokoro_tvm.recipe import build_schema

# Fields that components, or parts of the front end, share are listed once, as NAME.
_ALIKE = {
    "components": "|".join(COMPONENT_AXES),
    "patches": "|".join(COMPONENT_AXES),
    "gates": "bert|duration|text_encoder|f0n",
    "front_end": "tagger|lexicon|cmudict|cldr",
}
_OVERRIDES = ("patches", "passes", "pass_context", "gates")
_REQUIRED = object()


@dataclass(frozen=True)
class RecipeField:
    """A row of the reference.

    Attributes:
        path: Such as `buckets.tokens`, `checkpoint.sources[npm].shards.size` or `gates.NAME.min_snr_db`.
        value: The accepted values, in words.
        default: The default as YAML, "required", or "the model's" if a target recipe overrides the model's.
    """

    path: str
    value: str
    default: str
    description: str


def recipe_fields(record: str) -> list[RecipeField]:
    """Return the leaf fields of `TargetFile` or `ModelFile`, in order."""
    definitions = build_schema()["$defs"]
    fields: dict[str, RecipeField] = {}
    for path, node, default, description in _walk(
        definitions, {"$ref": f"#/$defs/{record}"}, "", _REQUIRED, ""
    ):
        head = path.split(".")[0]
        if head in _ALIKE:
            path = re.sub(rf"^({head})\.({_ALIKE[head]})\b", r"\1.NAME", path)
        fields.setdefault(
            path, RecipeField(path, _value(node), _default(path, node, default, record), description)
        )
    return list(fields.values())


def documented_fields(record: str) -> list[RecipeField]:
    """Return the fields of `recipe_fields`, with gates that several judged things share in one row."""
    rows: dict[str, RecipeField] = {}
    for field in recipe_fields(record):
        path = re.sub(r"^gates\.(decoder|speech|corpus)\.", "gates.NAME.", field.path)
        rows.setdefault(path, replace(field, path=path))
    return list(rows.values())


def _walk(
    definitions: Mapping[str, Any], node: Mapping[str, Any], path: str, default: Any, description: str
) -> Iterator[tuple[str, Mapping[str, Any], Any, str]]:
    """Yield (path, schema, default, description) of every leaf field."""
    if "$ref" in node:
        record = definitions[node["$ref"].rsplit("/", 1)[1]]
        kind = record.get("properties", {}).get("kind", {}).get("const")
        if kind is not None and not path.endswith(
            "]"
        ):  # a target's host: its fields are listed by themselves
            yield path, {"of_kind": kind}, default, description
        else:
            yield from _walk(definitions, record, path, default, description)
    elif "discriminator" in node:
        for kind, reference in node["discriminator"]["mapping"].items():
            name = f"{path.removesuffix('[]')}[{kind}]"
            yield from _walk(definitions, {"$ref": reference}, name, default, description)
    elif choices := [choice for choice in node.get("anyOf", []) if "$ref" in choice]:
        yield from _walk(definitions, choices[0], path, default, description)
    elif "properties" in node and not node.get("additionalProperties"):  # a matrix has other keys as well
        required = node.get("required", ())
        for name, field in node["properties"].items():
            own = _REQUIRED if name in required else field.get("default")
            yield from _walk(
                definitions, field, f"{path}.{name}".lstrip("."), own, field.get("description", description)
            )
    elif "$ref" in (items := node.get("items", {})) or "discriminator" in items:
        yield from _walk(definitions, items, f"{path}[]", default, description)
    else:
        yield path, node, default, description


def _value(node: Mapping[str, Any]) -> str:
    choices = node.get("anyOf")
    if choices:
        words = [_value(choice) for choice in choices if choice.get("type") != "null"]
        null = any(choice.get("type") == "null" for choice in choices)
        return ", ".join(words) + (" or null" if null else "")
    if "of_kind" in node:
        return f"what `target[{node['of_kind']}]` is"
    if "const" in node:
        return f"`{node['const']}`"
    if "enum" in node:
        return ", ".join(f"`{word}`" for word in node["enum"])
    match node.get("type"):
        case "boolean":
            return "`true`, `false`"
        case "array":
            return f"list of {_plural(_value(node.get('items', {})))}"
        case "object":
            return "mapping"
        case "integer" | "number":
            return _range(node)
        case _:
            return _short(PATTERNS.get(node.get("pattern", ""), "text"))


def _short(words: str) -> str:
    """Shorten a pattern's description: "an exact version such as 1.0.0" is "exact version"."""
    bare = re.sub(r"^(a|an|the) ", "", words)
    return re.split(r" (?:of|such as|with|as|written|inside|in) ", bare)[0]


def _plural(words: str) -> str:
    return words if words.startswith(("`", "whole number", "number")) else f"{words}s"


def _range(node: Mapping[str, Any]) -> str:
    kind = "whole number" if node["type"] == "integer" else "number"
    low, high = node.get("minimum"), node.get("maximum")
    bounds = []
    if low is not None and high is not None:
        bounds.append(f"{low:.12g} to {high:.12g}")
    elif low is not None:
        bounds.append(f"at least {low:.12g}")
    if "exclusiveMinimum" in node:
        bounds.append(f"above {node['exclusiveMinimum']:.12g}")
    if high is not None and low is None:
        bounds.append(f"at most {high:.12g}")
    return bounds[0] if kind == "number" and len(bounds) == 1 else ", ".join([kind, *bounds])


def _default(path: str, node: Mapping[str, Any], default: Any, record: str) -> str:
    if default is _REQUIRED:
        return "required"
    if record == "TargetFile" and path.split(".")[0] in _OVERRIDES:
        return "the model's"
    if node.get("type") == "object" and default is None:
        return "`{}`"
    if default is None:
        return "`null`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, list):
        return f"`[{', '.join(map(str, default))}]`"
    return f"`{default}`"
