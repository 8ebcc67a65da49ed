"""Seeded entry of a component that takes noise: draws it from a seed, then calls the component."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, tirx

from kokoro_tvm.kernels.base.relax import semantic_call


def build_noise_module(function: Any, name: str) -> Any | None:
    """Build a module of one function, `name`_forward(f0, seed), that draws the noise that a component takes.

    Args:
        function: The component's function. Its f0 determines how many samples are drawn.
        name: Prefix of the new function.

    Returns:
        The module, or None if the component takes no noise.
    """
    inputs = {parameter.name: parameter for parameter in function.params}
    if "noise" not in inputs:
        return None
    steps, samples = (_evaluate_at_one(inputs[tensor].ty.shape[1]) for tensor in ("f0", "noise"))
    extent = inputs["f0"].ty.shape[1]
    length = extent if isinstance(extent, tirx.IntImm) else tirx.Var("steps", "int64")
    f0 = relax.Var("f0", relax.TensorType([1, length], "float32"))
    seed = relax.Var("seed", relax.TensorType([3], "uint32"))
    builder = relax.BlockBuilder()
    with builder.function(f"{name}_forward", [f0, seed]):
        with builder.dataflow():
            call = semantic_call("normal_noise", {"f0": f0, "seed": seed}, {"upsample": samples // steps})
            noise = builder.emit_output(builder.emit(call))
        builder.emit_func_output(noise)
    return builder.get()


def add_seeded_entry(module: Any, noise_module: Any, component: str, name: str) -> Any:
    """Add `<component>_seeded` to a lowered component: it takes `seed` in place of `noise`.

    Args:
        module: The lowered component.
        noise_module: The lowered module of `build_noise_module`.
        component: Name of the component.
        name: Name of the noise module.
    """
    result = tvm.IRModule(dict(module.functions.items()) | dict(noise_module.functions.items()))
    variables = {v.name_hint: v for v in result.get_global_vars()}
    inner, draw = (variables[f"{prefix}_forward"] for prefix in (component, name))
    if inner.ty.is_missing():
        relax.expr._update_type(inner, result[inner].ty)
    inputs = relax.utils.copy_with_new_vars(result[inner]).params
    seed = relax.Var("seed", relax.TensorType([3], "uint32"))
    by_name = {parameter.name: parameter for parameter in inputs}
    builder = relax.BlockBuilder(result)
    parameters = [seed if p.name == "noise" else p for p in inputs]
    with builder.function(f"{component}_seeded", parameters, {"relax.force_pure": True}):
        noise = builder.emit(relax.Call(draw, [by_name["f0"], seed]))
        audio = builder.emit(relax.Call(inner, [noise if p.name == "noise" else p for p in inputs]))
        builder.emit_func_output(audio)
    return builder.get()


def _evaluate_at_one(extent: Any) -> int:
    """Return an extent for a symbolic length of 1."""
    analyzer = tvm.sym.Analyzer()
    for variable in tirx.analysis.undefined_vars(extent):
        analyzer.bind(variable, tirx.const(1, "int64"))
    return int(analyzer.simplify(extent))
