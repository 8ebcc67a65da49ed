from __future__ import annotations

import numpy as np
import torch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm.targets import Machine

from .support import machines, random, run

ROWS, CHANNELS = 10, 21


@machines
def test_embedding_matches_reference_for_every_length_and_id(machine: Machine) -> None:
    """Include ids outside the table, which are clamped. GPUs take int32."""
    weight = random(ROWS, CHANNELS)
    most = 2**63 if machine.kind == "llvm" else 2**31

    @settings(max_examples=examples(30))
    @given(st.lists(st.integers(-most, most - 1) | st.integers(-2, ROWS + 1), min_size=1, max_size=512))
    def holds(ids: list[int]) -> None:
        actual = run("embedding", {"weight": weight, "ids": torch.tensor([ids])}, machine=machine)
        assert np.array_equal(actual[0], weight.numpy()[np.clip(ids, 0, ROWS - 1)])

    holds()


def test_embedding_accepts_static_shape() -> None:
    weight, ids = random(ROWS, CHANNELS), torch.tensor([[3, 0, 9]])
    actual = run("embedding", {"weight": weight, "ids": ids}, dynamic=False)
    assert np.array_equal(actual[0], weight.numpy()[[3, 0, 9]])
