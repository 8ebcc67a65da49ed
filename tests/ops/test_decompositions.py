"""Every operation in plain Relax, compiled without any of our kernels, is what its reference computes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm.ops.base.semantic import registry

from .plain import TARGETS, decomposed, generated
from .samples import STRATEGIES, USES, Use, assert_moments, assert_near
from .support import AXES, reference, sliced

OPERATIONS = sorted(registry())
LENGTHS = (1, 2, 37, 130)

# Sums are taken in order, in float32.
TOLERANCE = 1e-5

targets = pytest.mark.parametrize("target", TARGETS)


def near(operation: str, use: Use, got: np.ndarray, want: np.ndarray) -> None:
    if operation == "moments":
        assert_moments(got, want)
    elif operation in ("embedding", "stft"):
        use.near(got, want)
    else:
        assert_near(got, want, TOLERANCE)


@targets
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_at_lengths_known_at_run_time(operation: str, target: str) -> None:
    use = USES[operation]
    for steps in (use.shortest, *(n for n in LENGTHS if n > use.shortest)):
        tensors = use.tensors(steps)
        got = decomposed(operation, tensors, use.attributes, target)
        near(operation, use, got, reference(operation, tensors, use.attributes))


@targets
@pytest.mark.parametrize("operation", [o for o in OPERATIONS if "length" in registry()[o].tensors])
def test_only_the_valid_part_counts(operation: str, target: str) -> None:
    """Whatever stands in the tails."""
    use, steps = USES[operation], 37
    axis = AXES[operation]["y"]
    for length in (max(use.shortest, 1), 20, steps):
        alone = sliced(operation, use.tensors(steps), use.attributes, length)
        want = reference(operation, alone, use.attributes)
        for fill in (np.nan, -1e30):
            tensors = use.tensors(steps)
            for name, part in alone.items():
                whole = tensors[name]
                if name in AXES[operation] and part is not None and whole is not None:
                    at = AXES[operation][name]
                    whole.narrow(at, part.shape[at], whole.shape[at] - part.shape[at]).fill_(fill)
            tensors["length"] = torch.tensor([length])
            got = decomposed(operation, tensors, use.attributes, target, dynamic=False)
            near(operation, use, np.take(got, range(want.shape[axis]), axis), want)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_random_uses(operation: str) -> None:
    @settings(max_examples=examples(8))
    @given(STRATEGIES[operation], st.integers(1, 90))
    def holds(use: Use, steps: int) -> None:
        tensors = use.tensors(max(steps, use.shortest))
        got = decomposed(operation, tensors, use.attributes, "llvm")
        near(operation, use, got, reference(operation, tensors, use.attributes))

    holds()


@pytest.mark.parametrize("operation", ["conv1d", "conv_transpose1d", "upsample_pool"])
def test_optional_arguments_may_be_absent(operation: str) -> None:
    use = USES[operation]
    schema = registry()[operation].torch._opoverload._schema
    optional = {a.name for a in schema.arguments if a.has_default_value()} & set(
        registry()[operation].tensors
    )
    tensors = use.tensors(37) | dict.fromkeys(optional)
    got = decomposed(operation, tensors, use.attributes, "llvm")
    near(operation, use, got, reference(operation, tensors, use.attributes))


@pytest.mark.parametrize("operation", [o for o in OPERATIONS if o != "embedding"])
def test_code_for_a_gpu_is_generated_by_default_schedules(operation: str) -> None:
    """WGSL has no 64-bit numbers. Ids are int64 by the component's signature, so `embedding` is left out."""
    tensors = USES[operation].tensors(37)
    assert "@compute" in generated(operation, tensors, USES[operation].attributes)
