"""The fields of recipes as the docs name them, read from the schema."""

from __future__ import annotations

import re
from typing import Any

from kokoro_tvm.recipe import COMPONENT_AXES, json_schema

__all__ = ["fields"]


def fields(record: str) -> set[str]:
    """Dotted paths of a record's innermost fields; NAME stands for the components that are alike."""
    schema = json_schema()
    return {
        re.sub(rf"^(gates|components|patches)\.({_ALIKE[path.split('.')[0]]})\b", r"\1.NAME", path)
        if path.split(".")[0] in _ALIKE
        else path
        for path in _paths(schema["$defs"], {"$ref": f"#/$defs/{record}"}, "")
    }


_ALIKE = {
    "components": "|".join(COMPONENT_AXES),
    "patches": "|".join(COMPONENT_AXES),
    "gates": "bert|duration|text_encoder|f0n",
}


def _paths(records: dict[str, Any], node: dict[str, Any], path: str) -> list[str]:
    if "$ref" in node:
        return _paths(records, records[node["$ref"].rsplit("/", 1)[1]], path)
    if "discriminator" in node:
        kinds = node["discriminator"]["mapping"].items()
        return [
            found
            for kind, reference in kinds
            for found in _paths(records, {"$ref": reference}, f"{path.removesuffix('[]')}[{kind}]")
        ]
    choices = [choice for choice in node.get("anyOf", []) if "$ref" in choice]
    if choices:
        return _paths(records, choices[0], path)
    if "properties" in node:
        prefix = f"{path}." if path else ""
        return [
            found
            for name, field in node["properties"].items()
            for found in _paths(records, field, prefix + name)
        ]
    items = node.get("items", {})
    if "$ref" in items or "discriminator" in items:
        return _paths(records, items, f"{path}[]")
    return [path]
