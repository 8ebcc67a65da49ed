"""GPU kernels without data races in shared memory between barriers, and without superfluous barriers."""

from __future__ import annotations

import pytest

from kokoro_tvm.kernels.base.semantic import registry

from .on_gpu import AS_CPP, BARRIER, RACES, without_barrier
from .samples import STEPS, USES, conv1d
from .support import prepared, reference, run

KERNELS = {name: USES[name] for name in sorted(registry())}
KERNELS["conv1d filtered"] = conv1d(16, 128, 3, stride=1, dilation=1, padding=1, tolerant=True)
kernels = pytest.mark.parametrize("name", KERNELS)
LONG = 300
# The last sum's: nothing is written behind it.
NEEDLESS = {"adain_coefficients": [8]}


@AS_CPP
@kernels
def test_gpu_kernels_have_no_race(name: str) -> None:
    use, operation = KERNELS[name], name.split()[0]
    for steps in (use.shortest, STEPS, LONG):
        tensors = use.tensors(steps)
        actual = run(operation, tensors, use.attributes, machine=RACES)
        use.near(actual, reference(operation, tensors, use.attributes))


@pytest.mark.nightly
@kernels
def test_race_check_detects_missing_barrier(name: str) -> None:
    use, operation = KERNELS[name], name.split()[0]
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
    assert needless == NEEDLESS.get(name, [])
