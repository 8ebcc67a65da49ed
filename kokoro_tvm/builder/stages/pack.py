"""Stage `pack`: lay out a component's weights as its kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import versions
from kokoro_tvm.builder.stages.base import COMPILER, Place, read_json
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.recipe import Recipe


def declare(
    place: Place, recipe: Recipe, component: str, lowered: Sequence[Stage], checkpoint: Stage
) -> Stage:
    """Declare the stage. `lowered`: the stages `lower` of all buckets, which share the weights."""
    return place.stage(
        "pack",
        component,
        doc=f"lay out the weights of {component} as its kernels read them",
        outputs=(f"{component}.safetensors",),
        inputs={
            **{f"parameters/{stage.name.split('.')[2]}": (stage, "parameters.json") for stage in lowered},
            "weights": (checkpoint, "weights.safetensors"),
        },
        parameters={"component": component, "bits": dict(recipe.weight_bits)},
        facts=lambda: {"versions": versions("numpy", "torch")},
        preload=COMPILER,
    )


def run(out: Path, inputs: Inputs, *, component: str, bits: dict[str, int]) -> None:
    """Write the packed weights.

    Args:
        out: Folder of the outputs.
        inputs: Weights, and the parameters of every bucket.
        component: Name of the component.
        bits: Weight bits by parameter.

    Raises:
        BuildError: Buckets need different layouts.
    """
    import torch
    from safetensors.torch import load_file

    import kokoro_tvm.kernels  # noqa: F401  (packings are looked up among the registered operations)
    from kokoro_tvm.compiler.lower import Parameter
    from kokoro_tvm.compiler.pack import pack_weights
    from kokoro_tvm.model.patches.weight_norm import fold_weight_norm

    lists = [read_json(path) for path in inputs.group("parameters").values()]
    layouts = [_describe_layout(parameters) for parameters in lists]
    if any(layout != layouts[0] for layout in layouts):
        buckets = ", ".join(inputs.group("parameters"))
        raise BuildError(f"the buckets pack weights differently and could not share them: {buckets}")
    with torch.no_grad():
        state = {
            name: tensor.numpy() for name, tensor in fold_weight_norm(load_file(inputs["weights"])).items()
        }
    parameters = [Parameter.from_json(p) for p in lists[0]]
    pack_weights(parameters, state, out / f"{component}.safetensors", bits)


def _describe_layout(parameters: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return what must agree between buckets: name, dtype, shape and packing of each weight."""
    return [
        (name, p["dtype"], p["shape"], (packing or {}).get("name"))
        for p in parameters
        for name, packing in _list_parts(p)
    ]


def _list_parts(parameter: dict[str, Any]) -> list[Any]:
    """Return name and packing (or None) of each weight of a parameter."""
    return parameter.get("parts") or [(parameter["name"], parameter["packing"])]
