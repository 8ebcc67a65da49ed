from __future__ import annotations

import numpy as np
import pytest
import torch

from kokoro_tvm.targets import Machine

from .support import check, check_masked, machines, random, random_lengths

HEADS, SIZE = 3, 21


def tensors(steps: int, sharpness: float = 1.0) -> dict[str, torch.Tensor | None]:
    channels = HEADS * SIZE
    return {
        "query": random(1, steps, channels) * sharpness,
        "key": random(1, steps, channels, seed=2),
        "value": random(1, steps, channels, seed=3),
    }


@machines
def test_attention_matches_reference_at_every_length(machine: Machine) -> None:
    def holds(steps: int) -> None:
        check("attention", tensors(steps), {"heads": HEADS}, machine=machine)

    random_lengths(holds, 512, also=(8, 9))


@machines
@pytest.mark.parametrize("sharpness", [0.0, 10.0, 1000.0])
def test_attention_matches_reference_for_even_and_sharp_weights(sharpness: float, machine: Machine) -> None:
    """Use scores from zero to some thousands: all keys weigh the same, or one dominates."""
    check(
        "attention",
        tensors(50, sharpness),
        {"heads": HEADS},
        machine=machine,
        tolerance=2e-6 * max(sharpness, 1),
    )


@machines
def test_attention_ignores_scores_far_below_largest(machine: Machine) -> None:
    """Add a common offset to the scores, which cancels."""
    given_tensors = tensors(20)
    given_tensors["key"] = torch.cat([given_tensors["key"][:, :19] - 100, given_tensors["key"][:, 19:]], 1)  # type: ignore[index]
    check("attention", given_tensors, {"heads": HEADS}, machine=machine, tolerance=1e-4)


@machines
@pytest.mark.parametrize("heads", [1, 12])
def test_attention_matches_reference_for_other_heads(heads: int, machine: Machine) -> None:
    given_tensors = {n: random(1, 70, heads * 4, seed=i) for i, n in enumerate(("query", "key", "value"))}
    check("attention", given_tensors, {"heads": heads}, machine=machine)


@machines
def test_attention_matches_reference_when_masked(machine: Machine) -> None:
    given_tensors = tensors(130)

    def holds(length: int) -> None:
        check_masked("attention", given_tensors, {"heads": HEADS}, length=length, machine=machine)

    random_lengths(holds, 130, also=(128, 129))


def test_attention_accepts_static_shape() -> None:
    check("attention", tensors(33), {"heads": HEADS}, dynamic=False)


def test_attention_of_one_token_returns_its_value() -> None:
    given_tensors = tensors(1)
    actual = check("attention", given_tensors, {"heads": HEADS})
    assert given_tensors["value"] is not None
    assert np.array_equal(actual, given_tensors["value"].numpy())
