from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from kokoro_tvm.targets import Machine

from .support import check, check_masked, machines, prim_func, random, random_lengths, run


def tensors(hidden: int, steps: int) -> dict[str, torch.Tensor | None]:
    arguments: dict[str, torch.Tensor | None] = {}
    for i, name in enumerate(("forward", "backward")):
        arguments[name] = random(1, steps, 4 * hidden, seed=i)
    for i, name in enumerate(("forward", "backward")):
        arguments[f"weight_{name}"] = random(4 * hidden, hidden, seed=10 + i) / hidden**0.5
        arguments[f"bias_{name}"] = random(4 * hidden, seed=20 + i)
    return arguments


@machines
@pytest.mark.parametrize("hidden", [1, 5, 8, 32, 48, 256, 300])
def test_lstm_matches_reference_for_hidden_sizes(hidden: int, machine: Machine) -> None:
    """Use sizes that fill two vectors, one, part of one, none; Kokoro's; more than a workgroup's threads."""
    for steps in (1, 2, 40):
        check("lstm", tensors(hidden, steps), machine=machine)


@machines
def test_lstm_matches_reference_at_every_length(machine: Machine) -> None:
    def holds(steps: int) -> None:
        check("lstm", tensors(32, steps), machine=machine)

    random_lengths(holds, 300, also=(16, 17))


@machines
def test_lstm_matches_reference_for_saturated_gates(machine: Machine) -> None:
    """Use gate inputs of some hundreds, as an untrained model gives."""
    given_tensors = tensors(16, 30)
    for name in ("forward", "backward"):
        given_tensors[name] = given_tensors[name] * 100  # type: ignore[operator]
    check("lstm", given_tensors, machine=machine)


@machines
def test_lstm_matches_reference_when_masked(machine: Machine) -> None:
    given_tensors = tensors(32, 70)

    def holds(length: int) -> None:
        check_masked("lstm", given_tensors, length=length, machine=machine)

    random_lengths(holds, 70, also=(16,))


def test_lstm_backward_starts_at_last_valid_step() -> None:
    """Expect that the first hidden state of each direction depends on no other step."""
    given_tensors = tensors(8, 9)
    whole = run("lstm", given_tensors)
    for length in (1, 4, 9):
        masked = run("lstm", given_tensors | {"length": torch.tensor([length])}, dynamic=False)
        one = {
            n: t[:, length - 1 : length] if n in ("forward", "backward") else t
            for n, t in given_tensors.items()
        }
        alone = run("lstm", {n: t.contiguous() for n, t in one.items()})
        assert np.array_equal(masked[0, length - 1, 8:], alone[0, 0, 8:])
        assert np.array_equal(masked[0, :length, :8], whole[0, :length, :8])


def test_lstm_directions_are_mirror_images() -> None:
    given_tensors = tensors(8, 21)
    for name in ("forward", "weight_forward", "bias_forward"):
        mirrored = given_tensors[name]
        assert mirrored is not None
        given_tensors[name.replace("forward", "backward")] = (
            mirrored.flip(1).contiguous() if name == "forward" else mirrored
        )
    actual = run("lstm", given_tensors)
    assert np.array_equal(actual[0, :, :8], actual[0, ::-1, 8:])


def test_lstm_accepts_static_shape() -> None:
    check("lstm", tensors(32, 33), dynamic=False)


def test_lstm_code_size_does_not_depend_on_length() -> None:
    def text(steps: int | str, length: bool) -> list[str]:
        shapes: dict[str, tuple[int | str, ...]] = {"forward": (1, steps, 128), "backward": (1, steps, 128)}
        for name in ("forward", "backward"):
            shapes |= {f"weight_{name}": (128, 32), f"bias_{name}": (128,)}
        if length:
            shapes["length"] = (1,)
        function = prim_func("lstm", tuple(shapes.items()), (), (1, steps, 64))
        return re.sub(r"\d+", "#", str(function)).splitlines()

    for masked in (False, True):
        sizes = {len(text(steps, masked)) for steps in (2, 512, 5120)}
        assert len(sizes) == 1
        assert max(sizes) < 1000
    assert text(16, True) == text(5120, True)
    assert abs(len(text("t", False)) - len(text(512, False))) < 20
