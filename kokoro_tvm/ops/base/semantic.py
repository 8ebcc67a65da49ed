"""What a semantic operation is: a torch reference, the shape of its result, and kernels.

In PyTorch an operation is `torch.ops.kokoro.<name>`, so `torch.export` keeps it as one node. In Relax it is a
`call_dps_packed("kokoro.<name>", ...)` until `passes/select_kernels.py` puts a kernel in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import TypeAdapter

from kokoro_tvm.features import Features
from kokoro_tvm.ops.base.schedule import ConvChoice
from kokoro_tvm.runtime.bundle.quantized import transformed

__all__ = [
    "Extent",
    "LaunchSharing",
    "OpCall",
    "OpImplementation",
    "PackedWeight",
    "Packing",
    "SemanticOp",
    "activate",
    "crop_valid",
    "pad_steps",
    "registry",
    "semantic_op",
]

Extent = Any  # an int, or a symbolic expression (torch.SymInt, TIR)
Shape = tuple[Extent, ...]


@dataclass(frozen=True)
class OpCall:
    """One use of an operation, as its kernel sees it.

    shapes: tensor argument -> its extents, with a name in place of each extent known only at run time;
    absent optional arguments are left out. result: the extents of the result, likewise; moments: those of
    the result's moments (see `ops.moments`) where the kernel is to write them too, as a second result.
    choice: what the recipe's schedule has for this layer, if anything; halves: names of the tensors, "y" for
    the result, that memory holds as float16; members: how many such uses one launch makes, see `LaunchSharing`.
    """

    shapes: Mapping[str, tuple[int | str, ...]]
    attributes: Mapping[str, Any]
    result: tuple[int | str, ...]
    features: Features
    moments: tuple[int | str, ...] | None = None
    choice: ConvChoice | None = None
    halves: tuple[str, ...] = ()
    members: int = 1

    def has(self, name: str) -> bool:
        return name in self.shapes

    def dtype(self, name: str) -> str:
        """Of a float tensor in memory."""
        return "float16" if name in self.halves else "float32"

    def optional(self, kernel: Any, name: str, dtype: str | None = None) -> Any | None:
        """The parameter of `kernel` (a `Kernel`) for an argument that may be absent."""
        return kernel.param(name, self.shapes[name], dtype or self.dtype(name)) if self.has(name) else None


@dataclass(frozen=True)
class Packing:
    """How a weight is laid out for a kernel at build time, and the name that says so.

    arrange: array -> (blocks, ..., columns): its elements in their order, zeros where a block is not full.
    columns: how many elements beside one another belong to different output channels; each block has channels
    of its own. points: of a filtered weight, which is arranged as (blocks, taps, ..., columns), the float64
    matrix (points, taps) that makes (blocks, points, ..., columns) of it. store: float32 -> what memory
    holds.
    """

    name: str
    arrange: Callable[[np.ndarray], np.ndarray]
    columns: int = 1
    points: np.ndarray | None = None
    store: Callable[[np.ndarray], np.ndarray] = np.asarray

    def pack(self, array: np.ndarray) -> np.ndarray:
        """A float32 array in the kernel's layout and dtype."""
        arranged = self.arrange(array)
        return self.store(arranged if self.points is None else transformed(arranged, self.points))


@dataclass(frozen=True)
class LaunchSharing:
    """How calls of an operation that are equal but for their tensors share a launch.

    The kernel for them takes, in this order: `own`, the tensors that each of them has, of all members; those
    that they have in `common`; one flat float32 tensor of the `joined` weights, packed, member by member; and
    writes a result for each. most: how many may share.
    """

    most: int
    own: tuple[str, ...]
    common: tuple[str, ...]
    joined: tuple[str, ...]


@dataclass(frozen=True)
class OpImplementation:
    """A kernel written for one kind of machine.

    build: Call -> PrimFunc taking the present tensor arguments in order and the result last;
    packings: Call -> {weight argument: Packing}; gives_moments: whether the kernel for a Call can write the
    moments of its result besides; layer: Call -> what a schedule calls it, None where there is nothing to
    choose; halves: Call -> the tensors, "y" for the result, that the kernel can have as float16 in memory;
    sharing: how calls share a launch, None where each has its own; in_place: Call -> the tensors whose memory
    the result may take, because the kernel reads each of their elements before it writes that of the result,
    and never again."""

    build: Callable[[OpCall], Any]
    packings: Callable[[OpCall], Mapping[str, Packing]] = lambda call: {}
    can_emit_moments: Callable[[OpCall], bool] = lambda call: False
    layer: Callable[[OpCall], str | None] = lambda call: None
    halves: Callable[[OpCall], frozenset[str]] = lambda call: frozenset()
    sharing: LaunchSharing | None = None
    in_place: Callable[[OpCall], frozenset[str]] = lambda call: frozenset()


@dataclass(frozen=True)
class SemanticOp:
    """name; torch: the callable that patches use; shape: (tensor shapes and attributes) -> result extents;
    cpu, gpu: its kernels; flops: Call -> multiplications and additions for each step of the result, as the
    definition has them, None where they are not what takes the time."""

    name: str
    torch: Callable[..., torch.Tensor]
    shape: Callable[..., Shape]
    cpu: OpImplementation
    gpu: OpImplementation
    flops: Callable[[OpCall], int] | None
    tensors: tuple[str, ...]
    attributes: tuple[str, ...]

    def kernel_for(self, features: Features) -> OpImplementation:
        """The kernel for a machine, see `Features.kernels`."""
        return self.gpu if features.kernels == "gpu" else self.cpu

    def kernel(self, call: OpCall) -> Any:
        """The PrimFunc for a call.

        One whose result may take the memory of a tensor promises the code generator nothing about them.
        """
        chosen = self.kernel_for(call.features)
        kernel, shared = chosen.build(call), chosen.in_place(call) & call.shapes.keys()
        return kernel.with_attr("tirx.noalias", False) if shared else kernel

    def packings(self, call: OpCall) -> Mapping[str, Packing]:
        """How the kernel for a call wants its weights packed."""
        return self.kernel_for(call.features).packings(call)


_REGISTRY: dict[str, SemanticOp] = {}


def registry() -> Mapping[str, SemanticOp]:
    """Every operation that has been imported, by name."""
    return dict(_REGISTRY)


@dataclass(frozen=True)
class PackedWeight:
    """A weight's packing as data, for weights are packed long after, and far from, the lowering that chose
    it: what `operation` wants for its `argument` when called as `call`; `name` tells packings apart."""

    operation: str
    argument: str
    call: OpCall
    name: str

    @property
    def packing(self) -> Packing:
        return registry()[self.operation].packings(self.call)[self.argument]

    def pack(self, array: np.ndarray) -> np.ndarray:
        """float32 array in the kernel's layout and dtype."""
        return self.packing.pack(array)

    def layout(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
        """The packed shape and dtype of an array of this shape."""
        packed = self.pack(np.zeros(shape, np.float32))
        return packed.shape, str(packed.dtype)

    def to_json(self) -> dict[str, Any]:
        call = asdict(self.call) | {"features": self.call.features.to_json()}
        if not self.call.halves:  # so that a new ability changes no other's keys
            del call["halves"]
        if self.call.members == 1:
            del call["members"]
        return {"operation": self.operation, "argument": self.argument, "name": self.name, "call": call}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PackedWeight:
        return _PACKED_WEIGHT.validate_python(data)


_PACKED_WEIGHT = TypeAdapter(PackedWeight)


def semantic_op(
    shape: Callable[..., Shape] | None = None,
    *,
    cpu: OpImplementation,
    gpu: OpImplementation,
    flops: Callable[[OpCall], int] | None = None,
) -> Callable[[Callable[..., torch.Tensor]], Callable[..., torch.Tensor]]:
    """Registers a function as `torch.ops.kokoro.<its name>`: the function itself is the reference.

    Tensor parameters come first, attributes (int, float, bool) are keyword-only. `shape` is called with a
    shape (or None) per tensor parameter and every attribute by name; without it the result's is that of the
    first tensor. Results are float32 unless the inputs are float64.
    """

    def register(reference: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        name = reference.__name__
        signature = inspect.signature(reference)
        tensors = tuple(p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY)
        attributes = tuple(p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY)
        extents = shape or (lambda **given: given[tensors[0]])
        operator = torch.library.custom_op(f"kokoro::{name}", reference, mutates_args=())

        def fake(*args: Any, **attrs: Any) -> torch.Tensor:
            bound = signature.bind(*args, **attrs)
            bound.apply_defaults()
            shapes = {
                t: None if bound.arguments[t] is None else tuple(bound.arguments[t].shape) for t in tensors
            }
            result = extents(**shapes, **{a: bound.arguments[a] for a in attributes})
            return torch.empty(result, dtype=args[0].dtype, device=args[0].device)

        operator.register_fake(fake)
        _REGISTRY[name] = SemanticOp(name, operator, extents, cpu, gpu, flops, tensors, attributes)
        return operator

    return register


def crop_valid(x: torch.Tensor, length: torch.Tensor | None) -> torch.Tensor:
    """The valid part of `x` along time, its second axis: everything where there is no length."""
    return x if length is None else x[:, : int(length)]


def pad_steps(y: torch.Tensor, steps: int) -> torch.Tensor:
    """`y` (1, T, ...) with zeros behind it, up to so many steps."""
    out = y.new_zeros(1, steps, *y.shape[2:])
    out[:, : y.shape[1]] = y
    return out


def activate(
    x: torch.Tensor, norm: torch.Tensor | None, alpha: torch.Tensor | None, slope: float
) -> torch.Tensor:
    """What precedes a convolution, act((x - mean) * scale + shift): Snake where there is an alpha, leaky ReLU
    with `slope` otherwise.

    x (1, T, C); norm (3, C): mean, scale, shift; alpha (C,).
    """
    if norm is not None:
        mean, scale, shift = norm
        x = (x - mean) * scale + shift
    if alpha is not None:
        return x + torch.sin(alpha * x) ** 2 / alpha
    return x if slope == 1.0 else F.leaky_relu(x, slope)
