"""NaN propagates: a result that is NaN in the reference is NaN in the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from kokoro_tvm.kernels.base.semantic import registry
from kokoro_tvm.targets import Machine

from .samples import SAMPLES
from .support import BFLOAT16, Tensors, machines, needs_bfloat16, reference, run

OPERATIONS = sorted(registry())
KEPT = {"moments": lambda result: result[:, :3].any(0)}  # blocks are the kernel's choice; channels are not


def poisoned(operation: str) -> Iterator[tuple[str, Tensors]]:
    """Return the sample with one NaN: at both ends and in the middle of every float tensor."""
    # The last row of moments counts steps, so NaN goes before it.
    tensors, _ = SAMPLES[operation]
    for name, tensor in tensors.items():
        if tensor is None or tensor.dtype != torch.float32:
            continue
        last = tensor.numel() - 1 - (tensor.shape[-1] if name == "moments" else 0)
        for place in dict.fromkeys((0, tensor.numel() // 2, last)):
            changed = tensor.clone()
            changed.view(-1)[place] = np.nan
            yield f"{name}[{place}]", tensors | {name: changed}


def keeps_nan(operation: str, computed: Callable[[Tensors], np.ndarray]) -> None:
    """Assert that the result is NaN at least where the reference's is."""
    kept = KEPT.get(operation, lambda result: result)
    lost = {}
    for where, tensors in poisoned(operation):
        want = kept(np.isnan(reference(operation, tensors, SAMPLES[operation][1])))
        actual = kept(np.isnan(computed(tensors)))
        if (missing := np.count_nonzero(want & ~actual)) > 0:
            lost[where] = f"{missing} of {np.count_nonzero(want)}"
    assert not lost, lost


def test_reference_propagates_nan() -> None:
    """Check all operations whose values depend on a float's."""
    silent = set()
    for operation in OPERATIONS:
        results = [reference(operation, t, SAMPLES[operation][1]) for _, t in poisoned(operation)]
        if not any(np.isnan(result).any() for result in results):
            silent.add(operation)
    assert silent == {"normal_noise"}


@machines
@pytest.mark.parametrize("operation", OPERATIONS)
def test_kernel_propagates_nan(operation: str, machine: Machine) -> None:
    keeps_nan(operation, lambda tensors: run(operation, tensors, SAMPLES[operation][1], machine=machine))


@needs_bfloat16
@pytest.mark.parametrize("operation", ["conv1d", "conv_transpose1d"])
def test_rounding_kernel_propagates_nan(operation: str) -> None:
    def computed(tensors: dict[str, Tensor | None]) -> np.ndarray:
        attributes = SAMPLES[operation][1] | {"tolerant": True}
        return run(operation, tensors, attributes, machine=BFLOAT16)

    keeps_nan(operation, computed)
