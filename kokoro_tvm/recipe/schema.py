"""JSON Schema of recipe files, with which editors complete and check them."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from kokoro_tvm.recipe.files import ModelFile, TargetFile

_URL = "https://json-schema.org/draft/2020-12/schema"
_DIFFERENCE = "Difference"  # suffix of the names of records that may lack keys


def build_schema() -> dict[str, Any]:
    """Return the JSON Schema of a recipe file: a model's if it has `checkpoint`, otherwise a target's.

    With `extends` or `matrix`, any key may be left out.
    """
    references, schema = models_json_schema([(ModelFile, "validation"), (TargetFile, "validation")])
    model, target = (references[record, "validation"] for record in (ModelFile, TargetFile))
    definitions = schema["$defs"]
    _relax_gates(definitions)
    _make_optional(definitions, model)
    _make_optional(definitions, target)
    of_models = sorted(set(ModelFile.model_fields) - set(TargetFile.model_fields))
    return {
        "$schema": _URL,
        "title": "kokoro-tvm recipe",
        "if": {"anyOf": [{"required": ["extends"]}, {"required": ["matrix"]}]},
        "then": {
            "if": {"anyOf": [{"required": [key]} for key in of_models]},
            "then": _refer_to_difference(model),
            "else": _refer_to_difference(target),
        },
        "else": {"if": {"required": ["checkpoint"]}, "then": model, "else": target},
        "$defs": definitions,
    }


def _relax_gates(definitions: dict[str, Any]) -> None:
    """Let a target's gates and a model's sets lack keys, and let the name of a set stand for gates."""
    gates = {"$ref": "#/$defs/Gates"}
    some = _make_optional(definitions, gates)
    name = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}
    of_model, of_target = (definitions[file]["properties"] for file in ("ModelFile", "TargetFile"))
    description = of_model["gates"]["description"]
    of_model["gates"] = {"anyOf": [gates, some | {"required": ["extends"]}, name], "description": description}
    of_model["gate_sets"]["additionalProperties"] = some
    of_target["gates"]["anyOf"] = [some, {"type": "null"}, name]


def _make_optional(definitions: dict[str, Any], node: Any) -> Any:
    """Return the schema of a mapping whose keys, and those of the mappings inside it, are all optional.

    Schemas that it refers to are added to `definitions`. Lists are replaced as a whole: their items keep
    their required keys.
    """
    if isinstance(node, list):
        return [_make_optional(definitions, item) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
        difference = _make_optional(definitions, definitions[name])
        if difference == definitions[name]:
            return node
        definitions[f"{name}{_DIFFERENCE}"] = difference
        return node | _refer_to_difference(node)
    # With `kind` left out, the keys of several kinds may fit.
    words = {"oneOf": "anyOf"}
    return {
        words.get(key, key): value if key == "items" else _make_optional(definitions, value)
        for key, value in node.items()
        if key not in ("required", "discriminator")
    }


def _refer_to_difference(reference: dict[str, str]) -> dict[str, str]:
    """Return a reference to the schema of differences (see `_make_optional`) of a referenced one."""
    return {"$ref": f"{reference['$ref']}{_DIFFERENCE}"}
