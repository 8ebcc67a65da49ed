"""The lowering stage: an exported program becomes a module of kernels that only code generation is missing
from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import torch
import tvm
from pydantic import TypeAdapter
from torch.export.graph_signature import InputKind
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

import kokoro_tvm.ops  # noqa: F401  (registers the semantic operations)
from kokoro_tvm.compiler.codegen import make_pass_context
from kokoro_tvm.compiler.seeded import add_seeded_entry, build_noise_module
from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops.base.relax import converters
from kokoro_tvm.ops.base.schedule import ConvChoice
from kokoro_tvm.ops.base.semantic import PackedWeight
from kokoro_tvm.passes import LoweringContext, run_passes
from kokoro_tvm.passes.select_kernels import JOINED, PACKINGS
from kokoro_tvm.targets import Machine, tvm_target

__all__ = ["LoweredModule", "Parameter", "lower"]


@dataclass(frozen=True)
class Parameter:
    """One weight of a component: its name in the folded state dict, and its shape and packing in the
    module. parts: of several weights in one flat tensor, each one's name and packing; then `name` is that of
    the first and how many there are besides."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    packing: PackedWeight | None
    parts: tuple[tuple[str, PackedWeight | None], ...] = ()

    def to_json(self) -> dict[str, Any]:
        packing = self.packing.to_json() if self.packing else None
        shape = list(self.shape)
        entry: dict[str, Any] = {"name": self.name, "dtype": self.dtype, "shape": shape, "packing": packing}
        if self.parts:
            entry["parts"] = [(name, part.to_json() if part else None) for name, part in self.parts]
        return entry

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Parameter:
        return _PARAMETER.validate_python(entry)


_PARAMETER = TypeAdapter(Parameter)


def _packing(entry: Mapping[str, Any] | None) -> PackedWeight | None:
    return PackedWeight.from_json(entry) if entry else None


@dataclass(frozen=True)
class LoweredModule:
    """module: an IRModule ready for code generation; parameters: its weights, in the order they are
    passed."""

    module: Any
    parameters: tuple[Parameter, ...]


def lower(
    program: torch.export.ExportedProgram,
    *,
    component: str,
    machine: Machine,
    passes: Sequence[str],
    pass_context: Mapping[str, Any],
    manifest: Mapping[str, Any],
    schedule: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
    storage_step: int = 1,
    dump: Callable[[str, Any], None] = lambda name, module: None,
) -> LoweredModule:
    """Lowers one component.

    The module has `<component>_forward(inputs..., weights...)`, `<component>_seeded` where noise is among the
    inputs, and `<component>_manifest()`, which returns
    `manifest` as JSON. pass_context: opt_level, disabled_passes, config, as TVM's PassContext takes them.
    schedule: layer -> outputs, taps and tiles, for the layers that are not to be computed by rule.
    storage_step: memory is reserved for the next multiple of so many steps of the component's axis.
    Raises BuildError for an unknown pass, a pass that fails, an operation no kernel covers and a choice of
    the schedule that there is no kernel for.
    """
    weights = _weights(program)
    module = _import(program, component, weights)
    dump("import", module)
    inputs = len(module[f"{component}_forward"].params) - len(weights)
    names = frozenset(p.name for p in module[f"{component}_forward"].params[inputs:])
    choices = {layer: ConvChoice(**entry) for layer, entry in schedule.items()}
    context = LoweringContext(component, tvm_target(machine), machine.features, names, choices, storage_step)
    module = _with_manifest(module, component, manifest)
    packings: dict[str, Any] = {}
    joined: dict[str, Any] = {}
    parameters: list[Any] = []

    def observe(name: str, current: Any) -> None:
        if name == "select_kernels":
            function = current[f"{component}_forward"]
            packings.update(json.loads(function.attrs[PACKINGS]))
            joined.update(json.loads((function.attrs or {}).get(JOINED, "{}")))
            parameters.extend(function.params[inputs:])
        dump(name, current)

    drawer = f"{component}_noise"
    drawn = build_noise_module(module[f"{component}_forward"], drawer)
    with make_pass_context(pass_context):
        module = run_passes(module, passes, context, observe)
        if drawn is not None:
            alone = replace(
                context,
                component=drawer,
                weights=frozenset(),
                schedule={},
                storage_step=2 * storage_step,  # f0 has two steps a frame
            )
            module = add_seeded_entry(module, run_passes(drawn, passes, alone), component, drawer)
            dump("seeded", module)
    if not parameters:
        raise BuildError(
            f"{component}: the pass list {list(passes)} has no select_kernels, so nothing can be compiled"
        )
    foreign = [v.name_hint for v in module.get_global_vars() if not v.name_hint.startswith(f"{component}_")]
    if foreign:
        raise BuildError(
            f"{component}: the functions {', '.join(sorted(foreign))} are not named after the component: "
            "list the passes that make functions (legalize, fuse) before select_kernels, which names them"
        )
    return LoweredModule(module, tuple(_parameters(parameters, packings, joined, weights)))


def _weights(program: torch.export.ExportedProgram) -> dict[str, str]:
    """Placeholder name -> name in the folded state dict, in the program's order."""
    specs = program.graph_signature.input_specs
    return {s.arg.name: str(s.target) for s in specs if s.kind is InputKind.PARAMETER}


def _import(program: torch.export.ExportedProgram, component: str, weights: Mapping[str, str]) -> Any:
    # The importer converts parameter values, which a program does not have: one element stands for each.
    for name, value in program.state_dict.items():
        stand_in = torch.zeros((), dtype=value.dtype).expand(value.shape)
        program.state_dict[name] = torch.nn.Parameter(stand_in, requires_grad=False)
    module = from_exported_program(
        program,
        keep_params_as_input=True,
        custom_convert_map=dict(converters()),
        run_ep_decomposition=False,
    )
    function = module["main"].without_attr("params")
    for bound in ("tir_var_upper_bound", "tir_var_lower_bound"):
        # An upper bound would make every utterance take the memory of the longest.
        if function.attrs and bound in function.attrs:
            function = function.without_attr(bound)
    name = f"{component}_forward"
    renamed = tvm.IRModule({tvm.ir.GlobalVar(name): function.with_attr("global_symbol", name)})
    order = [p.name for p in function.params]
    if order[-len(weights) :] != list(weights):
        raise BuildError(
            f"{component}: weights are not the last parameters of the imported function: {order}"
        )
    return renamed


def _with_manifest(module: Any, component: str, manifest: Mapping[str, Any]) -> Any:
    builder = relax.BlockBuilder(module)
    with builder.function(f"{component}_manifest", []):
        builder.emit_func_output(tvm.ir.StringImm(json.dumps(manifest, sort_keys=True)))
    return builder.get()


def _parameters(
    parameters: Sequence[Any],
    packings: Mapping[str, Any],
    joined: Mapping[str, Any],
    weights: Mapping[str, str],
) -> list[Parameter]:
    result = []
    for parameter in parameters:
        parts = tuple((weights[part], _packing(packed)) for part, packed in joined.get(parameter.name, ()))
        result.append(
            Parameter(
                f"{parts[0][0]}+{len(parts) - 1}" if parts else weights[parameter.name],
                str(parameter.ty.dtype),
                tuple(int(extent) for extent in parameter.ty.shape),
                _packing(packings.get(parameter.name)),
                parts,
            )
        )
    return result
