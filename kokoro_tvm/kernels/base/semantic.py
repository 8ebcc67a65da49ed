"""Semantic operations: a torch reference, the shape of the result, and kernels.

In PyTorch an operation is `torch.ops.kokoro.<name>`, so `torch.export` keeps it as one node. In Relax it is a
`call_dps_packed("kokoro.<name>", ...)` until `compiler/passes/select_kernels.py` replaces it by a kernel.
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

from kokoro_tvm.common.features import Features
from kokoro_tvm.kernels.base.schedule import ConvChoice
from kokoro_tvm.runtime.bundle.quantized import transform_taps

Extent = Any  # an int, or a symbolic expression (torch.SymInt, TIR)
Shape = tuple[Extent, ...]


@dataclass(frozen=True)
class OpCall:
    """Call of an operation, as its kernel sees it.

    Attributes:
        shapes: Extents of each present tensor argument; a name stands for an extent known only at run time.
        attributes: Attributes of the operation by name.
        result: Extents of the result.
        features: Features of the machine.
        moments: Extents of the result's moments (see `kernels.moments`) if the kernel writes them as a second
            result.
        choice: Tuned choice of the recipe's schedule for this layer, if any.
        halves: Names of the tensors that memory holds as float16; "y" is the result.
        members: How many calls share the launch, see `LaunchSharing`.
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
        """Return whether a tensor argument is present."""
        return name in self.shapes

    def get_int(self, name: str) -> int:
        """Return an attribute as an int."""
        return int(self.attributes[name])

    def get_float(self, name: str) -> float:
        """Return an attribute as a float."""
        return float(self.attributes[name])

    def dtype(self, name: str) -> str:
        """Return the dtype of a float tensor in memory."""
        return "float16" if name in self.halves else "float32"

    def optional(self, kernel: Any, name: str, dtype: str | None = None) -> Any | None:
        """Declare the parameter of an argument of `kernel` if it is present.

        Its dtype is `dtype`, or that in memory.
        """
        return kernel.param(name, self.shapes[name], dtype or self.dtype(name)) if self.has(name) else None

    def declare_result(self, kernel: Any, source: Any | None = None) -> tuple[Any, Any]:
        """Declare the optional parameter `length` and the result `y` of `kernel`.

        Args:
            kernel: The kernel.
            source: Tensor whose time steps are all valid without a length; by default the result.

        Returns:
            The result, and the number of valid steps.
        """
        length = self.optional(kernel, "length", kernel.index_dtype)
        y = kernel.param("y", self.result, self.dtype("y"))
        steps = kernel.index((y if source is None else source).shape[1])
        return y, steps if length is None else length[0]


@dataclass(frozen=True)
class Packing:
    """Layout of a weight that a kernel reads, made at build time.

    Attributes:
        name: Identifies the layout; equal layouts have equal names.
        arrange: Maps an array to (blocks, ..., columns): its elements in the kernel's order, zeros where a
            block is not full.
        columns: Neighbouring elements that belong to different output channels; each block has its own
            channels.
        points: float64 (points, taps), the matrix of a filtered weight. The weight is then arranged as
            (blocks, taps, ..., columns) and transformed to (blocks, points, ..., columns).
        store: Maps float32 to the dtype in memory.
    """

    name: str
    arrange: Callable[[np.ndarray], np.ndarray]
    columns: int = 1
    points: np.ndarray | None = None
    store: Callable[[np.ndarray], np.ndarray] = np.asarray

    def pack(self, array: np.ndarray) -> np.ndarray:
        """Arrange, transform and store a float32 array."""
        arranged = self.arrange(array)
        return self.store(arranged if self.points is None else transform_taps(arranged, self.points))


@dataclass(frozen=True)
class LaunchSharing:
    """How a kernel merges calls that differ only in their tensors into one launch (horizontal fusion).

    The merged kernel takes, in this order: the `own` tensors of all members; the `common` ones; one flat
    float32 tensor of the `joined` weights, packed, member by member. It writes a result for each member.

    Attributes:
        most: How many calls may share a launch.
        own: Tensors that every member has.
        common: Tensors that all members share.
        joined: Weights that are concatenated.
    """

    most: int
    own: tuple[str, ...]
    common: tuple[str, ...]
    joined: tuple[str, ...]


@dataclass(frozen=True)
class OpImplementation:
    """Implementation of an operation for one kind of machine.

    Attributes:
        build: Builds the PrimFunc of a call; it takes the present tensor arguments in order, then the result.
        packings: Returns the packing of each weight that the kernel reads packed.
        can_emit_moments: Returns whether the kernel can write the moments of its result as well.
        layer: Returns the key of the layer in a schedule, or None if there is nothing to tune.
        halves: Returns the tensors, "y" for the result, that the kernel can keep as float16 in memory.
        sharing: How calls share a launch, or None if they cannot.
        in_place: Returns the tensors whose memory the result may reuse. The kernel reads each of their
            elements before it writes that of the result, and never again.
    """

    build: Callable[[OpCall], Any]
    packings: Callable[[OpCall], Mapping[str, Packing]] = lambda call: {}
    can_emit_moments: Callable[[OpCall], bool] = lambda call: False
    layer: Callable[[OpCall], str | None] = lambda call: None
    halves: Callable[[OpCall], frozenset[str]] = lambda call: frozenset()
    sharing: LaunchSharing | None = None
    in_place: Callable[[OpCall], frozenset[str]] = lambda call: frozenset()


@dataclass(frozen=True)
class SemanticOp:
    """A registered operation.

    Attributes:
        name: Its name, also that of `torch.ops.kokoro.<name>`.
        torch: The callable that patches use.
        shape: Maps tensor shapes and attributes to the result's extents.
        cpu: Implementation for CPUs.
        gpu: Implementation for GPUs.
        flops: Returns the multiplications and additions for each step of the result, as the definition counts
            them; None if they do not dominate the time.
        tensors: Names of the tensor arguments.
        attributes: Names of the attributes.
    """

    name: str
    torch: Callable[..., torch.Tensor]
    shape: Callable[..., Shape]
    cpu: OpImplementation
    gpu: OpImplementation
    flops: Callable[[OpCall], int] | None
    tensors: tuple[str, ...]
    attributes: tuple[str, ...]

    def kernel_for(self, features: Features) -> OpImplementation:
        """Return the implementation for a machine, see `Features.kernels`."""
        return self.gpu if features.kernels == "gpu" else self.cpu

    def kernel(self, call: OpCall) -> Any:
        """Build the PrimFunc of a call."""
        # A kernel whose result may lie in the memory of an argument must not promise that pointers do not
        # alias.
        implementation = self.kernel_for(call.features)
        kernel, shared = implementation.build(call), implementation.in_place(call) & call.shapes.keys()
        return kernel.with_attr("tirx.noalias", False) if shared else kernel

    def packings(self, call: OpCall) -> Mapping[str, Packing]:
        """Return the packings of a call's weights by argument name."""
        return self.kernel_for(call.features).packings(call)


_REGISTRY: dict[str, SemanticOp] = {}


def registry() -> Mapping[str, SemanticOp]:
    """Return every registered operation by name."""
    return dict(_REGISTRY)


@dataclass(frozen=True)
class PackedWeight:
    """Packing of a weight as data, so that weights can be packed in a later stage.

    Attributes:
        operation: Name of the operation.
        argument: Its argument that is packed.
        call: The call whose kernel reads the weight.
        name: Name of the packing.
    """

    operation: str
    argument: str
    call: OpCall
    name: str

    @property
    def packing(self) -> Packing:
        """The packing, from the registry."""
        return registry()[self.operation].packings(self.call)[self.argument]

    def pack(self, array: np.ndarray) -> np.ndarray:
        """Pack a float32 array."""
        return self.packing.pack(array)

    def layout(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
        """Return shape and dtype that an array of a shape is packed to."""
        packed = self.pack(np.zeros(shape, np.float32))
        return packed.shape, str(packed.dtype)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object; `halves` and `members` are left out at their defaults."""
        call = asdict(self.call) | {"features": self.call.features.to_json()}
        if not self.call.halves:  # keys of older stages stay the same
            del call["halves"]
        if self.call.members == 1:
            del call["members"]
        return {"operation": self.operation, "argument": self.argument, "name": self.name, "call": call}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PackedWeight:
        """Read what `to_json` returned."""
        return _PACKED_WEIGHT.validate_python(data)


_PACKED_WEIGHT = TypeAdapter(PackedWeight)


def semantic_op(
    shape: Callable[..., Shape] | None = None,
    *,
    cpu: OpImplementation,
    gpu: OpImplementation,
    flops: Callable[[OpCall], int] | None = None,
) -> Callable[[Callable[..., torch.Tensor]], Callable[..., torch.Tensor]]:
    """Register a function as `torch.ops.kokoro.<its name>`; the function itself is the reference.

    Tensor parameters come first; attributes (int, float, bool) are keyword-only. Results are float32 unless
    the inputs are float64.

    Args:
        shape: Called with a shape (or None) per tensor and every attribute by name; returns the extents of
            the result. By default those of the first tensor.
        cpu: Implementation for CPUs.
        gpu: Implementation for GPUs.
        flops: See `SemanticOp`.

    Returns:
        A decorator.
    """

    def register(reference: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """Register the reference as torch operator and return it."""
        name = reference.__name__
        signature = inspect.signature(reference)
        tensors = tuple(p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY)
        attributes = tuple(p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY)
        extents = shape or (lambda **arguments: arguments[tensors[0]])
        operator = torch.library.custom_op(f"kokoro::{name}", reference, mutates_args=())

        def fake(*args: Any, **attrs: Any) -> torch.Tensor:
            """Return an empty tensor of the result's shape, for torch.export."""
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
    """Crop `x` (1, T, ...) to its valid steps; all of them if there is no length."""
    return x if length is None else x[:, : int(length)]


def pad_steps(y: torch.Tensor, steps: int) -> torch.Tensor:
    """Pad `y` (1, T, ...) with zeros to `steps` steps."""
    out = y.new_zeros(1, steps, *y.shape[2:])
    out[:, : y.shape[1]] = y
    return out


def activate(
    x: torch.Tensor, norm: torch.Tensor | None, alpha: torch.Tensor | None, slope: float
) -> torch.Tensor:
    """Normalize and activate the input of a convolution: act((x - mean) * scale + shift).

    Args:
        x: (1, T, C).
        norm: (3, C): mean, scale, shift.
        alpha: (C,), the Snake activation's; without it, leaky ReLU with `slope`.
        slope: 1.0 for no activation.

    Returns:
        (1, T, C).
    """
    if norm is not None:
        mean, scale, shift = norm
        x = (x - mean) * scale + shift
    if alpha is not None:
        return x + torch.sin(alpha * x) ** 2 / alpha
    return x if slope == 1.0 else F.leaky_relu(x, slope)
