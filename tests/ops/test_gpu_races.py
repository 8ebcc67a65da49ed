"""No two threads of a workgroup use an element of shared memory between two barriers where one writes it, and
there is no barrier too many."""

from __future__ import annotations

import pytest

from kokoro_tvm.ops.base.semantic import registry

from .on_gpu import AS_CPP, BARRIER, RACES, without_barrier
from .samples import STEPS, USES
from .support import prepared, reference, run

OPERATIONS = sorted(name for name, op in registry().items() if "gpu" in op.kernels)
LONG = 300
# The last sum's: nothing is written behind it.
NEEDLESS = {"adain_coefficients": [8]}


@AS_CPP
@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_operation_has_a_race(operation: str) -> None:
    use = USES[operation]
    for steps in (use.shortest, STEPS, LONG):
        tensors = use.tensors(steps)
        got = run(operation, tensors, use.attributes, machine=RACES)
        use.near(got, reference(operation, tensors, use.attributes))


@pytest.mark.nightly
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_barrier_that_is_taken_out_is_missed(operation: str) -> None:
    use = USES[operation]
    tensors = use.tensors(LONG)
    kernel, _, _ = prepared(operation, tensors, use.attributes, machine=RACES)
    needless = []
    for number in range(kernel.code.source.count(BARRIER)):
        try:
            run(operation, tensors, use.attributes, machine=without_barrier(number))
        except RuntimeError as error:
            assert "one writes it" in str(error)
        else:
            needless.append(number)
    assert needless == NEEDLESS.get(operation, [])
