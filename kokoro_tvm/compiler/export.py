"""The export stage: exports a patched component as a program, a graph of semantic operations.

A program holds no weights. It is traced on the meta device; its parameters have the names of the folded state
dict (`kokoro_tvm.model.patches.weight_norm.fold_weight_norm`), their shapes and dtypes.
"""

from __future__ import annotations

import io
import traceback
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.export.graph_signature import InputKind

import kokoro_tvm.kernels  # noqa: F401  (registers torch.ops.kokoro, which programs are made of)
from kokoro_tvm.common.errors import BuildError, KokoroTvmError
from kokoro_tvm.model import patches as patch_modules
from kokoro_tvm.model.components import build_component
from kokoro_tvm.model.kokoro import build_model
from kokoro_tvm.model.patches import apply_patches
from kokoro_tvm.model.signatures import Signature, TensorSpec, signatures

PLAIN_OPERATIONS = frozenset(
    {
        "aten.add.Tensor",
        "aten.arange.default",
        "aten.cat.default",
        "aten.expand.default",
        "aten.lt.Tensor",
        "aten.mul.Tensor",
        "aten.reshape.default",
        "aten.select.int",
        "aten.sigmoid.default",
        "aten.squeeze.dim",
        "aten.sum.dim_IntList",
        "aten.sym_size.int",
        "aten.transpose.int",
        "aten.unsqueeze.default",
        "aten.where.self",
        "aten.zeros.default",
        "mul",
    }
)
"""Operations of a program besides `kokoro.*`; "mul" multiplies lengths known only at run time."""

_PATCHES = Path(patch_modules.__file__).parent
_LONGEST_REASON = 300  # characters of torch's own message
_TRACED_LENGTH = 7  # any length above 1: torch specializes sizes of 0 and 1


def export_component(
    component: str, config: Mapping[str, Any], length: str, bucket: int, patches: Sequence[str]
) -> ExportedProgram:
    """Export one component without the metadata that later stages do not read.

    Args and errors: see `trace_component`.
    """
    program = trace_component(component, config, length, bucket, patches)
    strip_program(program)
    return program


def trace_component(
    component: str, config: Mapping[str, Any], length: str, bucket: int, patches: Sequence[str]
) -> ExportedProgram:
    """Export one component with torch's metadata, which says what module each node comes from.

    Args:
        component: Its name.
        config: Content of config.json.
        length: "exact" (the axis is symbolic, 1 to bucket), "masked" (`bucket` steps; the valid length is the
            last input) or "padded" (`bucket` steps).
        bucket: Largest length on the component's axis.
        patches: Names of patches, in order.

    Returns:
        The program.

    Raises:
        BuildError: The component, length policy or a patch is unknown; the model cannot have the bucket; the
            graph contains other than semantic and plain operations; or the length is not free from 1 to the
            bucket.
    """
    table = signatures(config)
    if component not in table:
        raise BuildError(f"unknown component {component!r}: there are {', '.join(table)}")
    signature = table[component].resolved(length, bucket)
    _check_bucket(signature, config, bucket)
    module = build_component(component, build_model(config, None, device="meta"))
    example = min(_TRACED_LENGTH, bucket)
    arguments = tuple(_example_input(spec.at(example)) for spec in signature.inputs)
    dynamic = _dynamic_shapes(signature, bucket)
    with apply_patches(patches, module), torch.no_grad():
        try:
            program = torch.export.export(module, arguments, dynamic_shapes=dynamic, strict=False)
        except KokoroTvmError:
            raise
        except Exception as error:  # the stock code between the patches may raise anything
            reason = str(error).strip().partition("\n")[0][:_LONGEST_REASON]
            place = traceback.extract_tb(error.__traceback__)[-1]
            if Path(place.filename).is_relative_to(_PATCHES):
                raise BuildError(
                    f"{component} cannot be exported, because a patch has a mistake: {type(error).__name__} "
                    f"in {place.filename}, line {place.lineno}: {reason}"
                ) from error
            raise BuildError(
                f"{component} cannot be exported with the patches {', '.join(patches)}: one is missing from "
                f"its list, or does not cover a piece of the model ({type(error).__name__}: {reason})"
            ) from error
    _check_program(program, component, length, bucket, patches)
    return program


def list_operations(program: ExportedProgram) -> list[str]:
    """List every operation of the graph, in order: "kokoro.conv1d.default", "aten.cat.default", "mul"."""
    return [_name_operation(node) for node in program.graph.nodes if node.op == "call_function"]


def save_program(program: ExportedProgram, path: Path) -> None:
    """Write a program as a .pt2 archive: the same bytes for the same program, and no weights."""
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    path.write_bytes(buffer.getvalue())


def load_program(path: Path) -> ExportedProgram:
    """Read a program that `save_program` wrote.

    Raises:
        BuildError: The file is missing or damaged.
    """
    try:
        if not zipfile.is_zipfile(path):  # checked first: torch would print a traceback before it raises
            raise ValueError("it is not there or not a whole archive")
        return torch.export.load(io.BytesIO(path.read_bytes()))
    except (OSError, RuntimeError, ValueError, KeyError, AssertionError) as error:
        raise BuildError(f"{path} cannot be read as an exported program, export it again: {error}") from error


def _check_bucket(signature: Signature, config: Mapping[str, Any], bucket: int) -> None:
    """Raise BuildError for a bucket that the model cannot have."""
    limit = config["plbert"]["max_position_embeddings"] if signature.axis == "tokens" else None
    if bucket < 1 or (limit is not None and bucket > limit):
        raise BuildError(
            f"{signature.component} cannot have a bucket of {bucket} {signature.axis}: choose at least 1"
            + (f" and at most {limit}, the model's context" if limit else "")
        )


def _example_input(spec: TensorSpec) -> torch.Tensor:
    """Return an example input on the meta device."""
    return torch.empty(spec.shape, dtype=getattr(torch, spec.dtype), device="meta")


def _dynamic_shapes(signature: Signature, bucket: int) -> tuple[dict[int, Any], ...]:
    """Return the symbolic extents of each input, multiples of one symbol."""
    if bucket == 1:
        return tuple({} for _ in signature.inputs)  # a single length is static
    axis = Dim(signature.symbol, min=1, max=bucket)
    dynamic: list[dict[int, Any]] = []
    for spec in signature.inputs:
        words = {i: e.rpartition("*")[0] for i, e in enumerate(spec.shape) if isinstance(e, str)}
        dynamic.append({i: int(factor) * axis if factor else axis for i, factor in words.items()})
    return tuple(dynamic)


def strip_program(program: ExportedProgram) -> None:
    """Remove what later stages do not read but machines and edits change: source lines, the meta device."""
    # Otherwise a comment in a patch would change the program, which would also contain its file name.
    for node in program.graph.nodes:
        node.meta = {key: value for key, value in node.meta.items() if key == "val"}
        if "device" in node.kwargs:
            node.update_kwarg("device", torch.device("cpu"))
    program.graph_module.recompile()
    program.graph_module.meta.clear()
    program.example_inputs = None


def _name_operation(node: torch.fx.Node) -> str:
    """Return the name of a node's operation."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return str(getattr(target, "__name__", target))


def _check_program(
    program: ExportedProgram, component: str, length: str, bucket: int, patches: Sequence[str]
) -> None:
    """Raise BuildError for a program that later stages cannot lower, see `trace_component`."""
    foreign = sorted({n for n in list_operations(program) if not n.startswith("kokoro.")} - PLAIN_OPERATIONS)
    if foreign:
        raise BuildError(
            f"the exported {component} contains {_shorten(foreign)}, which no later stage takes: a patch is "
            f"missing from its list, or does not cover a piece of the model{_format_patches(patches)}"
        )
    inputs = (InputKind.PARAMETER, InputKind.USER_INPUT)
    constants = [str(s.target) for s in program.graph_signature.input_specs if s.kind not in inputs]
    if constants:
        remedy = (
            f"a patch that makes them parameters does not cover them{_format_patches(patches)}"
            if "weight_norm" in patches
            else "add the patch `weight_norm` to its list, which folds normalised weights into parameters"
        )
        raise BuildError(f"the exported {component} holds values of its own, {_shorten(constants)}: {remedy}")
    unused = [n.name for n in program.graph.find_nodes(op="placeholder") if not n.users]
    if unused:
        raise BuildError(
            f"the exported {component} does not use its inputs {_shorten(unused)}: "
            "a patch replaces what reads them"
        )
    symbols = {s: r for s, r in program.range_constraints.items() if s.is_symbol}
    expected = 1 if length == "exact" and bucket > 1 else 0
    if len(symbols) != expected or any((r.lower, r.upper) != (1, bucket) for r in symbols.values()):
        raise BuildError(
            f"the exported {component} is limited to lengths {dict(program.range_constraints)} where 1 to "
            f"{bucket} is wanted: a patch compares or slices the length"
        )


def _shorten(names: Sequence[str]) -> str:
    """Join the first three names, and the number of the others, for a message."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _format_patches(patches: Sequence[str]) -> str:
    """Return the patches in parentheses, for the end of a message."""
    return f" (its patches are {', '.join(patches) or 'none'})"
