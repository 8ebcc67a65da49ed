"""Properties that every operation has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import tvm

from kokoro_tvm.kernels.base.semantic import OpCall, PackedWeight, registry
from kokoro_tvm.targets import Machine, tvm_target

from .samples import SAMPLES, STEPS, STRATEGIES, USES
from .support import ARM, AXES, compiled_for, kernel_for, machines, reference, result_shape, run

OPERATIONS = sorted(registry())
other_cpu = pytest.mark.slow("compiles every operation for another CPU")


def test_every_operation_has_a_test() -> None:
    assert sorted(USES) == sorted(STRATEGIES) == sorted(AXES) == OPERATIONS
    assert {path.stem for path in Path(__file__).parent.glob("test_*.py")} >= {
        f"test_{o}" for o in OPERATIONS
    }


@machines
@pytest.mark.parametrize("operation", OPERATIONS)
def test_kernel_writes_only_its_arguments(operation: str, machine: Machine) -> None:
    """Put the guard page after every argument, then before it; the results must be the same bits."""
    tensors, attributes = SAMPLES[operation]
    behind, before = (
        run(operation, tensors, attributes, machine=machine, guard=guard) for guard in ("end", "start")
    )
    USES[operation].near(behind, reference(operation, tensors, attributes))
    assert behind.tobytes() == before.tobytes()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation_shape_matches_reference(operation: str) -> None:
    tensors, attributes = SAMPLES[operation]
    result = registry()[operation].torch(*tensors.values(), **attributes)
    assert tuple(result.shape) == result_shape(operation, tensors, attributes)
    assert result.dtype == torch.float32


@other_cpu
@pytest.mark.parametrize("operation", OPERATIONS)
def test_kernel_builds_for_aarch64(operation: str, tmp_path: Path) -> None:
    assert (ARM.features.lanes, ARM.features.registers) == (4, 32)
    path = tmp_path / "kernel.o"
    compiled_for(ARM, operation, *SAMPLES[operation]).write_to_file(str(path), "o")
    header = path.read_bytes()[:20]
    assert header[:4] == b"\x7fELF"
    assert int.from_bytes(header[18:20], "little") == 183  # EM_AARCH64


@pytest.mark.parametrize("operation", OPERATIONS)
def test_kernel_script_parses_back(operation: str) -> None:
    """Parse the TVMScript, which is how modules travel between stages."""
    function = kernel_for(operation, *SAMPLES[operation])
    module = tvm.IRModule({operation: function})
    tvm.ir.assert_structural_equal(tvm.script.from_source(module.script(show_meta=True)), module)


@other_cpu
@pytest.mark.parametrize("operation", [o for o in OPERATIONS if "length" in registry()[o].tensors])
def test_masked_kernel_builds_for_every_machine(operation: str) -> None:
    tensors, attributes = SAMPLES[operation]
    masked = tensors | {"length": torch.tensor([STEPS])}
    function = kernel_for(operation, masked, attributes, dynamic=False, machine=ARM)
    tvm.compile(tvm.IRModule({operation: function}), target=tvm_target(ARM))


@machines
@pytest.mark.parametrize("operation", ["adain_coefficients", "conv1d", "conv_transpose1d", "linear", "lstm"])
def test_packed_weight_survives_json(operation: str, machine: Machine) -> None:
    tensors, attributes = SAMPLES[operation]
    shapes = {n: tuple(t.shape) for n, t in tensors.items() if t is not None}
    full = {"stride": 1, "dilation": 1, "tolerant": False} | attributes
    call = OpCall(shapes, full, result_shape(operation, tensors, attributes), machine.features)
    for argument, packing in registry()[operation].packings(call).items():
        packed = PackedWeight(operation, argument, call, packing.name)
        weight = tensors[argument]
        assert weight is not None
        again = PackedWeight.from_json(packed.to_json())
        assert again == packed
        array = again.pack(weight.numpy())
        assert (array.shape, str(array.dtype)) == packed.layout(tuple(weight.shape))
        assert array.dtype == np.float32
        assert np.isclose(
            np.abs(array).sum(), np.abs(weight.numpy()).sum()
        )  # every weight once, the rest zero
