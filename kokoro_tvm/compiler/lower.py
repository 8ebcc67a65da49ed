"""The lowering stage: lowers an exported program to a module of kernels, ready for code generation."""

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

import kokoro_tvm.kernels  # noqa: F401  (registers the semantic operations)
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.codegen import make_pass_context
from kokoro_tvm.compiler.passes import LoweringContext, run_passes
from kokoro_tvm.compiler.passes.select_kernels import JOINED, PACKINGS
from kokoro_tvm.compiler.seeded import add_seeded_entry, build_noise_module
from kokoro_tvm.kernels.base.relax import converters
from kokoro_tvm.kernels.base.schedule import ConvChoice
from kokoro_tvm.kernels.base.semantic import PackedWeight
from kokoro_tvm.targets import Machine, tvm_target


@dataclass(frozen=True)
class Parameter:
    """A weight of a component, or several that are joined to one flat tensor.

    Attributes:
        name: Its name in the folded state dict; of joined weights the first one's, and the number of the
            others.
        dtype: Dtype in the module.
        shape: Shape in the module.
        packing: Its packing, or None.
        parts: Name and packing of each joined weight.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    packing: PackedWeight | None
    parts: tuple[tuple[str, PackedWeight | None], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        packing = self.packing.to_json() if self.packing else None
        shape = list(self.shape)
        entry: dict[str, Any] = {"name": self.name, "dtype": self.dtype, "shape": shape, "packing": packing}
        if self.parts:
            entry["parts"] = [(name, part.to_json() if part else None) for name, part in self.parts]
        return entry

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Parameter:
        """Read what `to_json` returned."""
        return _PARAMETER.validate_python(entry)


_PARAMETER = TypeAdapter(Parameter)


def _parse_packing(entry: Mapping[str, Any] | None) -> PackedWeight | None:
    """Parse a packing; None stays None."""
    return PackedWeight.from_json(entry) if entry else None


@dataclass(frozen=True)
class LoweredModule:
    """A module ready for code generation.

    Attributes:
        module: The IRModule.
        parameters: Its weights, in the order of the arguments.
    """

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
    """Lower one component.

    The module has `<component>_forward(inputs..., weights...)`, `<component>_seeded` if noise is among the
    inputs, and `<component>_manifest()`, which returns `manifest` as JSON.

    Args:
        program: The exported component, whose parameters are replaced.
        component: Its name.
        machine: Machine to lower for.
        passes: Names of the passes, in order.
        pass_context: See `codegen.make_pass_context`.
        manifest: JSON object to embed.
        schedule: Layer key to outputs, taps and tiles, which replace the rule.
        storage_step: Memory is reserved for the next multiple of this many steps of the component's axis.
        dump: Called as dump(name, module) after import and after each pass.

    Raises:
        BuildError: A pass is unknown or fails, an operation has no kernel, or a tuned choice has none.
    """
    weights = _map_weights(program)
    module = _import(program, component, weights)
    dump("import", module)
    inputs = len(module[f"{component}_forward"].params) - len(weights)
    names = frozenset(p.name for p in module[f"{component}_forward"].params[inputs:])
    choices = {layer: ConvChoice(**entry) for layer, entry in schedule.items()}
    context = LoweringContext(component, tvm_target(machine), machine.features, names, choices, storage_step)
    module = _add_manifest(module, component, manifest)
    packings: dict[str, Any] = {}
    joined: dict[str, Any] = {}
    parameters: list[Any] = []

    def observe(name: str, current: Any) -> None:
        """Keep packings, joined weights and parameters after `select_kernels`; then call `dump`."""
        if name == "select_kernels":
            function = current[f"{component}_forward"]
            packings.update(json.loads(function.attrs[PACKINGS]))
            joined.update(json.loads((function.attrs or {}).get(JOINED, "{}")))
            parameters.extend(function.params[inputs:])
        dump(name, current)

    noise_name = f"{component}_noise"
    noise_module = build_noise_module(module[f"{component}_forward"], noise_name)
    with make_pass_context(pass_context):
        module = run_passes(module, passes, context, observe)
        if noise_module is not None:
            noise_context = replace(
                context,
                component=noise_name,
                weights=frozenset(),
                schedule={},
                storage_step=2 * storage_step,  # f0 has two steps a frame
            )
            module = add_seeded_entry(
                module, run_passes(noise_module, passes, noise_context), component, noise_name
            )
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
    return LoweredModule(module, tuple(_list_parameters(parameters, packings, joined, weights)))


def _map_weights(program: torch.export.ExportedProgram) -> dict[str, str]:
    """Return placeholder name -> name in the folded state dict, in the program's order."""
    specs = program.graph_signature.input_specs
    return {s.arg.name: str(s.target) for s in specs if s.kind is InputKind.PARAMETER}


def _import(program: torch.export.ExportedProgram, component: str, weights: Mapping[str, str]) -> Any:
    """Import a program to Relax as `<component>_forward`, and replace its parameters by one element each.

    Raises BuildError if the weights are not its last parameters.
    """
    # The importer converts parameter values, which a program lacks: one expanded element replaces each.
    for name, value in program.state_dict.items():
        stand_in = torch.zeros((), dtype=value.dtype).expand(value.shape)
        program.state_dict[name] = torch.nn.Parameter(stand_in, requires_grad=False)
    module = from_exported_program(
        program, keep_params_as_input=True, custom_convert_map=dict(converters()), run_ep_decomposition=False
    )
    function = module["main"].without_attr("params")
    for bound in ("tir_var_upper_bound", "tir_var_lower_bound"):
        # With an upper bound every utterance would reserve the memory of the longest.
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


def _add_manifest(module: Any, component: str, manifest: Mapping[str, Any]) -> Any:
    """Add the function that returns the manifest."""
    builder = relax.BlockBuilder(module)
    with builder.function(f"{component}_manifest", []):
        builder.emit_func_output(tvm.ir.StringImm(json.dumps(manifest, sort_keys=True)))
    return builder.get()


def _list_parameters(
    parameters: Sequence[Any],
    packings: Mapping[str, Any],
    joined: Mapping[str, Any],
    weights: Mapping[str, str],
) -> list[Parameter]:
    """Describe the weights that the module takes."""
    result = []
    for parameter in parameters:
        parts = tuple(
            (weights[part], _parse_packing(packed)) for part, packed in joined.get(parameter.name, ())
        )
        result.append(
            Parameter(
                f"{parts[0][0]}+{len(parts) - 1}" if parts else weights[parameter.name],
                str(parameter.ty.dtype),
                tuple(int(extent) for extent in parameter.ty.shape),
                _parse_packing(packings.get(parameter.name)),
                parts,
            )
        )
    return result
