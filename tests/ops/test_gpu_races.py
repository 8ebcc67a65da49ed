"""No two threads of a workgroup use an element of shared memory between two barriers where one writes it."""

from __future__ import annotations

import pytest

from kokoro_tvm.ops.base.semantic import registry

from .on_gpu import RACES
from .samples import SAMPLES, USES
from .support import reference, run

OPERATIONS = sorted(name for name, op in registry().items() if "gpu" in op.kernels)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_operation_has_a_race(operation: str) -> None:
    tensors, attributes = SAMPLES[operation]
    for _ in range(3):  # each in another order
        got = run(operation, tensors, attributes, machine=RACES)
        USES[operation].near(got, reference(operation, tensors, attributes))
