"""Every kernel compared with its torch reference: random shapes at short lengths, by night all up to 70."""

from __future__ import annotations

import pytest
from examples import examples
from hypothesis import example, given, settings

from kokoro_tvm.targets import Machine

from .on_gpu import AS_CPP, GPUS
from .samples import STRATEGIES, USES, Use
from .support import here, reference, run, short_lengths


@here
@pytest.mark.parametrize("operation", STRATEGIES)
def test_operations_match_reference_for_random_shapes(operation: str, machine: Machine) -> None:
    """Use one kernel for all lengths, which are known only at run time."""

    @settings(max_examples=examples(8))
    @given(STRATEGIES[operation])
    @example(USES[operation])
    def holds(use: Use) -> None:
        for steps in short_lengths(use.shortest):
            at_length(operation, use, steps, machine)

    holds()


@AS_CPP
@pytest.mark.parametrize("operation", list(STRATEGIES))
def test_operations_match_reference_on_gpu(operation: str) -> None:
    """Run the CUDA that TVM prints, threads one after another, at a few lengths."""
    for steps in (0, 1, 32, 69):
        at_length(operation, USES[operation], USES[operation].shortest + steps, GPUS["cuda"])


@pytest.mark.nightly
@pytest.mark.parametrize("operation", list(STRATEGIES))
@pytest.mark.parametrize("machine", GPUS.values(), ids=GPUS.keys())
def test_operations_match_reference_for_random_shapes_on_gpu(operation: str, machine: Machine) -> None:
    """Compile a program for every shape."""

    @settings(max_examples=3)
    @given(STRATEGIES[operation])
    def holds(use: Use) -> None:
        for steps in (0, 1, 17, 32, 69):
            at_length(operation, use, use.shortest + steps, machine)

    holds()


def at_length(operation: str, use: Use, steps: int, machine: Machine) -> None:
    tensors = use.tensors(steps)
    actual = run(operation, tensors, use.attributes, machine=machine)
    use.near(actual, reference(operation, tensors, use.attributes))
