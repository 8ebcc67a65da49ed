"""A second entry for a component that is given noise: `<component>_seeded` draws it from a seed, in the same
library, and calls the first."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, tirx

from kokoro_tvm.ops.base.relax import semantic_call

__all__ = ["add_seeded_entry", "build_noise_module"]


def build_noise_module(function: Any, name: str) -> Any | None:
    """A module of one function, `name`_forward(f0, seed), that draws the noise a component is given.

    f0 is the component's own, whose length says how much. None where the function is given no noise.
    """
    inputs = {parameter.name: parameter for parameter in function.params}
    if "noise" not in inputs:
        return None
    steps, samples = (_at_one(inputs[tensor].ty.shape[1]) for tensor in ("f0", "noise"))
    extent = inputs["f0"].ty.shape[1]
    length = extent if isinstance(extent, tirx.IntImm) else tirx.Var("steps", "int64")
    f0 = relax.Var("f0", relax.TensorType([1, length], "float32"))
    seed = relax.Var("seed", relax.TensorType([3], "uint32"))
    builder = relax.BlockBuilder()
    with builder.function(f"{name}_forward", [f0, seed]):
        with builder.dataflow():
            call = semantic_call("normal_noise", {"f0": f0, "seed": seed}, {"upsample": samples // steps})
            made = builder.emit_output(builder.emit(call))
        builder.emit_func_output(made)
    return builder.get()


def add_seeded_entry(module: Any, drawn: Any, component: str, name: str) -> Any:
    """A lowered component with `<component>_seeded`: its inputs with `seed` in the place of `noise`.

    drawn: the lowered module of `build_noise_module`.
    """
    result = tvm.IRModule(dict(module.functions.items()) | dict(drawn.functions.items()))
    variables = {v.name_hint: v for v in result.get_global_vars()}
    inner, draw = (variables[f"{each}_forward"] for each in (component, name))
    if inner.ty.is_missing():
        relax.expr._update_type(inner, result[inner].ty)
    inputs = relax.utils.copy_with_new_vars(result[inner]).params
    seed = relax.Var("seed", relax.TensorType([3], "uint32"))
    given = {parameter.name: parameter for parameter in inputs}
    builder = relax.BlockBuilder(result)
    parameters = [seed if p.name == "noise" else p for p in inputs]
    with builder.function(f"{component}_seeded", parameters, {"relax.force_pure": True}):
        noise = builder.emit(relax.Call(draw, [given["f0"], seed]))
        audio = builder.emit(relax.Call(inner, [noise if p.name == "noise" else p for p in inputs]))
        builder.emit_func_output(audio)
    return builder.get()


def _at_one(extent: Any) -> int:
    """An extent with 1 for its symbolic length."""
    analyzer = tvm.sym.Analyzer()
    for variable in tirx.analysis.undefined_vars(extent):
        analyzer.bind(variable, tirx.const(1, "int64"))
    return int(analyzer.simplify(extent))
