"""Support for tests of operations: a kernel compiled once and run on arrays that end at a guard page."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import tvm
import tvm_ffi
from examples import examples, night
from hypothesis import given, settings
from hypothesis import strategies as st
from kept import native_kernel
from machines import machine_of
from torch import Tensor

import kokoro_tvm.kernels  # noqa: F401  (registers the operations)
from kokoro_tvm.common.cpu_features import AMX, features_of_cpu
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.kernels.base.semantic import OpCall, SemanticOp, registry
from kokoro_tvm.kernels.moments import slots
from kokoro_tvm.runtime.session.tvm_runtime import use_threads
from kokoro_tvm.runtime.threads import usable_cores
from kokoro_tvm.targets import Machine, tvm_target
from kokoro_tvm.targets.runners.process import Place
from kokoro_tvm.targets.runners.tiles import use_amx

from .emulated import EMULATED, EmulatedKernel, emulated
from .on_gpu import GPUS, GpuKernel, arrays_for, on_gpu

# Every kernel is run as this machine would have it and as a CPU with 8 lanes and 16 registers would, where it
# can be.
NATIVE = machine_of("native", None, ())
MACHINES: dict[str, Machine] = {"native": NATIVE}
if "avx2" in NATIVE.required:
    MACHINES["avx2"] = machine_of("x86-64-v3", None, ())
ARM = machine_of("generic", "aarch64-linux-gnu", ())
# As the native one, with operands rounded to bfloat16 and multiplied by vectors; None where the CPU cannot.
BFLOAT16: Machine | None
try:
    without_amx = sorted(f"-{name}" for name in AMX & (features_of_cpu() or frozenset()))
    BFLOAT16 = machine_of("native", None, without_amx, "bfloat16")
    _LACKS = ""
except BuildError as error:
    BFLOAT16, _LACKS = None, str(error)

THREADS = max(2, usable_cores())  # TVM's own choice is half as many as there are cores

HERE = [
    pytest.param(NATIVE, id="native"),
    *(
        pytest.param(machine, id=name, marks=pytest.mark.slow("compiles every operation for another CPU"))
        for name, machine in MACHINES.items()
        if name != "native"
    ),
]
OTHER_LAYERS = "compiles another layer of the same kind"
here = pytest.mark.parametrize("machine", HERE)
machines = pytest.mark.parametrize(
    "machine",
    [
        *HERE,
        *(pytest.param(machine, id=name, marks=pytest.mark.nightly) for name, machine in GPUS.items()),
        *(
            pytest.param(
                machine,
                id=name,
                marks=[pytest.mark.nightly, pytest.mark.skipif(reason is not None, reason=str(reason))],
            )
            for name, (machine, reason) in EMULATED.items()
        ),
    ],
)
needs_bfloat16 = pytest.mark.skipif(BFLOAT16 is None, reason=_LACKS)

# The axis whose extent an artifact of policy `exact` knows only at run time; y is the result.
AXES: dict[str, dict[str, int]] = {
    "adain_coefficients": {"moments": 0},
    "attention": {"query": 1, "key": 1, "value": 1, "y": 1},
    "conv1d": {"x": 1, "residual": 1, "added": 1, "y": 1},
    "conv_transpose1d": {"x": 1, "residual": 1, "y": 1},
    "embedding": {"ids": 1, "y": 1},
    "gelu": {"x": 1, "y": 1},
    "harmonic_source": {"f0": 1, "noise": 1, "y": 1},
    "istft": {"x": 1, "y": 1},
    "join": {"a": 1, "b": 1, "c": 1, "d": 1, "y": 1},
    "layer_norm": {"x": 1, "y": 1},
    "linear": {},
    "lstm": {"forward": 1, "backward": 1, "y": 1},
    "moments": {"x": 1, "y": 0},
    "normal_noise": {"f0": 1, "y": 1},
    "project": {"x": 1, "y": 1},
    "stft": {"x": 1, "y": 1},
    "upsample_pool": {"x": 1, "y": 1},
}
# Inputs that are as long as the result, not as the operation's first input.
LIKE_RESULT = {"residual", "added", "noise"}

Tensors = Mapping[str, Tensor | None]
Attributes = Mapping[str, Any]


def random(*shape: int, seed: int = 1) -> Tensor:
    """Return standard normal float32."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def run(operation: str, tensors: Tensors, attributes: Attributes | None = None, **how: Any) -> np.ndarray:
    """Run the kernel of an operation on tensors (None: absent); see `results` for `how`."""
    (result,) = results(operation, tensors, attributes, **how)
    return result


def results(
    operation: str,
    tensors: Tensors,
    attributes: Attributes | None = None,
    *,
    dynamic: bool = True,
    machine: Machine = NATIVE,
    moments: bool = False,
    guard: Place = "end",
    halves: tuple[str, ...] = (),
) -> list[np.ndarray]:
    """Run the kernel; return the result, and moments if it emits them: float32, NaN where unwritten.

    Args:
        operation: Name of the operation.
        tensors: Arguments; None for absent ones.
        attributes: Attributes, completed by their defaults.
        dynamic: Whether the extents along AXES are known only at run time. Kernels are cached by all other
            extents.
        machine: Machine to run on.
        moments: Whether the kernel emits moments.
        guard: The page after ("end") or before ("start") every argument is inaccessible, so that a kernel
            that leaves its arguments crashes, and pytest's fault handler names the test. Arguments are
            aligned to one element only.
        halves: The tensors, "y" for the result, that are float16 in memory.
    """
    function, arrays, written = prepared(
        operation, tensors, attributes, dynamic=dynamic, machine=machine, moments=moments, halves=halves
    )
    if isinstance(function, EmulatedKernel):
        return function(arrays, written, guard)
    if isinstance(function, GpuKernel):
        arrays = arrays_for(function, arrays)
    guarded = [_guarded(array, guard) for array in (*arrays, *written)]
    if isinstance(function, GpuKernel):
        function(*guarded)
    else:
        use_threads(THREADS)
        function(*map(tvm_ffi.from_dlpack, guarded))
    return [array.copy() for array in guarded[len(arrays) :]]


def prepared(
    operation: str,
    tensors: Tensors,
    attributes: Attributes | None = None,
    *,
    dynamic: bool = True,
    machine: Machine = NATIVE,
    moments: bool = False,
    halves: tuple[str, ...] = (),
) -> tuple[Any, list[np.ndarray], list[np.ndarray]]:
    """Return the compiled kernel, its arrays (weights packed) and its results, filled with NaN."""
    present = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    full = complete(operation, attributes or {})
    extents = [result_shape(operation, tensors, full)]
    shapes, items, result = _described(operation, present, full, extents[0], dynamic)
    left = None
    if moments:
        extents.append((slots(extents[0][1]), 4, extents[0][2]))
        left = ("moments_0" if dynamic else extents[1][0], *extents[1][1:])
    function, packings = _build_cpu_kernel(operation, shapes, items, result, machine, left, halves)
    arrays = [packings[n].pack(t.numpy()) if n in packings else t.numpy() for n, t in present.items()]
    arrays = [a.astype(np.float16) if n in halves else a for n, a in zip(present, arrays, strict=True)]
    written = [np.full(shape, np.nan, np.float32) for shape in extents]
    written[0] = written[0].astype(np.float16 if "y" in halves else np.float32)
    return function, arrays, written


def reference(operation: str, tensors: Tensors, attributes: Attributes | None = None) -> np.ndarray:
    """Compute the operation's torch reference in float64."""
    wide = [t.double() if t is not None and t.dtype == torch.float32 else t for t in tensors.values()]
    return registry()[operation].torch(*wide, **(attributes or {})).numpy()


def result_shape(operation: str, tensors: Tensors, attributes: Attributes) -> tuple[int, ...]:
    """Return the extents of the result."""
    names = registry()[operation].tensors
    shapes = {n: tuple(tensors[n].shape) if tensors.get(n) is not None else None for n in names}
    return tuple(registry()[operation].shape(**shapes, **complete(operation, attributes)))


def assert_near(got: np.ndarray, want: np.ndarray, tolerance: float = 2e-6) -> None:
    """Assert equal shapes, and values within the tolerance relative to the largest; NaN is never near."""
    assert got.shape == want.shape
    error = np.abs(got - want).max() / max(np.abs(want).max(), 1e-30)
    assert error <= tolerance, f"relative error {error:.2e}, allowed {tolerance:.0e}"


def filtered(taps: int) -> float:
    """Return the tolerance of results by minimal filtering, relative to the largest."""
    # More points, more error.
    return 4e-6 if taps <= 3 else 2e-5 if taps <= 7 else 1e-5


def check(
    operation: str,
    tensors: Tensors,
    attributes: Attributes | None = None,
    *,
    dynamic: bool = True,
    machine: Machine = NATIVE,
    tolerance: float = 2e-6,
) -> np.ndarray:
    """Compare the kernel with the float64 reference; return the kernel's result."""
    actual = run(operation, tensors, attributes, dynamic=dynamic, machine=machine)
    assert_near(actual, reference(operation, tensors, attributes), tolerance)
    return actual


def check_masked(
    operation: str,
    tensors: Tensors,
    attributes: Attributes | None = None,
    *,
    length: int,
    machine: Machine = NATIVE,
) -> None:
    """Assert that with a length the valid part equals, bit for bit, the result of the valid inputs alone.

    The invalid tails hold NaN, infinities, huge numbers and zeros.
    """
    full = complete(operation, attributes or {})
    alone = sliced(operation, tensors, full, length)
    want = run(operation, alone, full, machine=machine)
    axis = AXES[operation].get("y")
    for fill in (np.nan, np.inf, -1e30, 0.0):
        pad_steps = dict(tensors)
        for name, part in alone.items():
            if name in AXES[operation] and part is not None:
                axis_of = AXES[operation][name]
                whole = tensors[name].clone()  # type: ignore[union-attr]
                whole.narrow(axis_of, part.shape[axis_of], whole.shape[axis_of] - part.shape[axis_of]).fill_(
                    fill
                )
                pad_steps[name] = whole
        pad_steps["length"] = torch.tensor([length])
        actual = run(operation, pad_steps, full, dynamic=False, machine=machine)
        part = actual if axis is None else np.take(actual, range(want.shape[axis]), axis)
        assert part.tobytes() == want.tobytes(), f"{fill} in the tail: {_differences(part, want)}"


def sliced(operation: str, tensors: Tensors, attributes: Attributes, length: int) -> dict[str, Tensor | None]:
    """Cut tensors to their first `length` steps, and tensors of the result's length to the result's."""
    axes = AXES[operation]
    parts = {
        name: t.narrow(axes[name], 0, length).contiguous() if t is not None and name in axes else t
        for name, t in tensors.items()
        if name not in LIKE_RESULT and name != "length"
    }
    extents = result_shape(operation, parts, attributes)
    for name in LIKE_RESULT & set(tensors):
        whole = tensors[name]
        if whole is not None:
            whole = whole.narrow(axes[name], 0, extents[axes["y"]]).contiguous()
        parts[name] = whole
    return {name: parts[name] for name in tensors if name in parts}


def kernel_for(
    operation: str,
    tensors: Tensors,
    attributes: Attributes | None = None,
    *,
    dynamic: bool = True,
    machine: Machine = NATIVE,
) -> Any:
    """Return the TIR kernel of these tensors, for any machine."""
    present = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    full = complete(operation, attributes or {})
    extents = result_shape(operation, tensors, full)
    return prim_func(operation, *_described(operation, present, full, extents, dynamic), machine)


def compiled_for(
    machine: Machine, operation: str, tensors: Tensors, attributes: Attributes | None = None
) -> Any:
    """Return the compiled module of the dynamic kernel."""
    function = kernel_for(operation, tensors, attributes, machine=machine)
    return tvm.compile(tvm.IRModule({operation: function}), target=tvm_target(machine)).mod


def prim_func(
    operation: str,
    shapes: tuple[tuple[str, tuple[int | str, ...]], ...],
    attributes: tuple[tuple[str, Any], ...],
    extents: tuple[int | str, ...],
    machine: Machine = NATIVE,
    moments: tuple[int | str, ...] | None = None,
    halves: tuple[str, ...] = (),
) -> Any:
    """Return an operation's kernel as TIR."""
    call = OpCall(dict(shapes), dict(attributes), extents, machine.features, moments, halves=halves)
    return registry()[operation].kernel(call)


@cache
def _build_cpu_kernel(
    operation: str,
    shapes: Any,
    attributes: Any,
    extents: Any,
    machine: Machine,
    moments: Any,
    halves: tuple[str, ...],
) -> tuple[Any, Any]:
    function = prim_func(operation, shapes, attributes, extents, machine, moments, halves)
    call = OpCall(dict(shapes), dict(attributes), extents, machine.features)
    if (kernel := emulated(machine, function)) is not None:
        return kernel, registry()[operation].packings(call)
    if (on_device := on_gpu(machine, function)) is not None:
        return on_device, registry()[operation].packings(call)
    if machine.features.tiles:
        use_amx()
    return native_kernel(function, machine), registry()[operation].packings(call)


def complete(operation: str, attributes: Attributes) -> dict[str, Any]:
    """Add the defaults of missing attributes."""
    schema = _op(operation).torch._opoverload._schema.arguments
    defaults = {a.name: a.default_value for a in schema if a.name in _op(operation).attributes}
    return defaults | dict(attributes)


def _op(operation: str) -> SemanticOp:
    return registry()[operation]


def _described(
    operation: str,
    present: Mapping[str, Tensor],
    attributes: Attributes,
    extents: Sequence[int],
    dynamic: bool,
) -> tuple[Any, Any, Any]:
    """Return shapes, attributes and result extents as a kernel takes them, hashable."""

    def named(name: str, shape: Sequence[int]) -> tuple[int | str, ...]:
        axis = AXES[operation].get(name) if dynamic else None
        return tuple(f"{name}_{i}" if i == axis else int(extent) for i, extent in enumerate(shape))

    shapes = tuple((name, named(name, tensor.shape)) for name, tensor in present.items())
    return shapes, tuple(sorted(attributes.items())), named("y", extents)


_LIBC = ctypes.CDLL(None, use_errno=True)


def _guarded(array: np.ndarray, guard: str) -> np.ndarray:
    """Copy an array so that it ends right before, or starts right after, a page that nobody may access."""
    page = mmap.PAGESIZE
    size = -(-max(array.nbytes, 1) // page) * page
    memory = mmap.mmap(-1, size + page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    forbidden, start = (address + size, size - array.nbytes) if guard == "end" else (address, page)
    if _LIBC.mprotect(ctypes.c_void_p(forbidden), ctypes.c_size_t(page), 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    copy = np.frombuffer(memory, array.dtype, array.size, start).reshape(array.shape)
    copy[...] = array
    return copy


def _differences(got: np.ndarray, want: np.ndarray) -> str:
    differing = np.argwhere((got != want) & ~(np.isnan(got) & np.isnan(want)))
    if not len(differing):
        return "NaN on both sides"
    at = tuple(int(i) for i in differing[0])
    return f"{len(differing)} of {got.size} values differ, first at {at}: {got[at]!r} instead of {want[at]!r}"


def random_lengths(
    holds: Callable[[int], None], most: int, shortest: int = 1, also: Sequence[int] = ()
) -> None:
    """Check `holds(steps)` for the shortest and the longest length, for named ones and for random ones."""
    for steps in dict.fromkeys((shortest, *also, most)):
        holds(steps)

    @settings(max_examples=examples(20))
    @given(st.integers(shortest, most))
    def random_ones(steps: int) -> None:
        holds(steps)

    random_ones()


def every_length(holds: Callable[[int], None], most: int, shortest: int = 1) -> None:
    """Check lengths up to 70, and those at which vectors, tiles and blocks of some width end."""
    ends = (96, 128, 192, 256, 384, 512, 640, 1024, 1280) if night() else (128, 256, 640, 1280)
    edges = [end + d for end in ends for d in (-1, 0, 1) if shortest <= end + d <= most]
    random_lengths(holds, most, shortest, (*short_lengths(shortest), *edges))


def short_lengths(shortest: int = 1) -> list[int]:
    """Return lengths up to 70, or the shortest if it is longer; by day those that end vectors and tiles."""
    by_day = (*range(1, 10), 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 70)
    return [n for n in (range(1, 71) if night() else by_day) if n >= shortest] or [shortest]
