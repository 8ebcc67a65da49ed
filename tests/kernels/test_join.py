from __future__ import annotations

import numpy as np
import pytest
import torch

from kokoro_tvm import kernels as ops
from kokoro_tvm.targets import Machine

from .samples import assert_moments, combined, join
from .support import check_masked, machines, random_lengths, reference, results, run

WIDTHS = {"two": (21, 39), "four": (70, 5, 1, 1)}


@machines
@pytest.mark.parametrize("name", WIDTHS)
def test_join_matches_reference_at_every_length(name: str, machine: Machine) -> None:
    """Compare values exactly, and their moments."""

    def holds(steps: int) -> None:
        tensors = join(*WIDTHS[name]).tensors(steps)
        y, moments = results("join", tensors, machine=machine, moments=True)
        assert (y == reference("join", tensors)).all()
        assert_moments(moments, ops.moments(torch.from_numpy(y).double()).numpy())
        assert run("join", tensors, machine=machine).tobytes() == y.tobytes()

    random_lengths(holds, 700, also=(127, 128, 129, 256, 257))


@machines
def test_join_matches_reference_when_masked(machine: Machine) -> None:
    tensors = join(*WIDTHS["four"]).tensors(300)
    for length in (1, 128, 299):
        check_masked("join", tensors, length=length, machine=machine)
        poisoned = {name: tensor.clone() for name, tensor in tensors.items() if tensor is not None}
        for tensor in poisoned.values():
            tensor[:, length:] = np.nan
        poisoned["length"] = torch.tensor([length])
        y, moments = results("join", poisoned, dynamic=False, machine=machine, moments=True)
        valid_part = torch.from_numpy(y[:, :length]).double()
        assert_moments(moments[:16], ops.moments(valid_part).numpy()[:16])
        assert (combined(moments)[0] == length).all()
