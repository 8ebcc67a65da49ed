"""Transposed convolutions on GPUs that emit the moments of their results."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kokoro_tvm import kernels as ops
from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.targets import Machine

from .on_gpu import AS_CPP, GPUS, RACES
from .samples import assert_moments, combined, conv_transpose1d
from .support import results, run

USES = {"first": conv_transpose1d(21, 64, 10, lead=False), "last": conv_transpose1d(7, 32, 6, lead=True)}
gpus = pytest.mark.parametrize(
    "machine",
    [
        *(pytest.param(machine, id=kind, marks=pytest.mark.nightly) for kind, machine in GPUS.items()),
        pytest.param(RACES, id="races", marks=AS_CPP),
    ],
)


def reference_moments(y: np.ndarray) -> np.ndarray:
    return ops.moments(torch.from_numpy(y).double()).numpy()


@gpus
@pytest.mark.parametrize("name", USES)
def test_conv_transpose1d_moments_match_reference(name: str, machine: Machine) -> None:
    """Compare the result bit for bit, and the moments with those of the result that was written."""
    use = USES[name]
    for steps in (1, 7, 63, 64, 65, 200):
        arguments = use.tensors(steps), use.attributes
        y, moments = results("conv_transpose1d", *arguments, machine=machine, moments=True)
        assert y.tobytes() == run("conv_transpose1d", *arguments, machine=machine).tobytes()
        assert_moments(moments, reference_moments(y))


@gpus
@pytest.mark.parametrize("name", USES)
def test_conv_transpose1d_moments_matches_reference_when_masked(name: str, machine: Machine) -> None:
    """Compare bit for bit with the valid part alone; unused slots must be marked as empty."""
    use, lead = USES[name], USES[name].attributes["lead"]
    arguments = {tensor: t for tensor, t in use.tensors(200).items() if t is not None}
    for length in (1, 64, 130):
        steps = {"x": length, "residual": length * use.attributes["stride"] + lead}
        cut = {n: t[:, : steps[n]].contiguous() if n in steps else t for n, t in arguments.items()}
        want, want_moments = results("conv_transpose1d", cut, use.attributes, machine=machine, moments=True)
        poisoned = {n: t.clone() for n, t in arguments.items()}
        for name_of, until in steps.items():
            poisoned[name_of][:, until:] = np.nan
        poisoned["length"] = torch.tensor([length])
        y, moments = results(
            "conv_transpose1d", poisoned, use.attributes, dynamic=False, machine=machine, moments=True
        )
        assert y[:, : want.shape[1]].tobytes() == want.tobytes()
        used = want_moments[:, 3, 0] > 0
        assert moments[: len(used)][used].tobytes() == want_moments[used].tobytes()
        assert (combined(moments)[0] == want.shape[1]).all()


def test_conv_transpose1d_can_emit_moments_of_whole_tiles() -> None:
    """Require whole tiles of outputs, and slots for the partial last block of every phase."""

    def gives(outputs: int, stride: int) -> bool:
        shapes = {"x": (1, "n", 64), "weight": (64, outputs, 2 * stride)}
        attributes = {"stride": stride, "lead": True}
        call = OpCall(shapes, attributes, (1, "n", outputs), GPUS["cuda"].features)
        return registry()["conv_transpose1d"].gpu.can_emit_moments(call)

    assert gives(128, 6) and gives(256, 10) and gives(256, 14)
    assert not gives(256, 16)
    assert not gives(39, 6)
