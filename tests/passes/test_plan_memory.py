from __future__ import annotations

import pytest
from lowering import lowered

from .support import operators


@pytest.mark.parametrize("policy", ["exact", "masked"])
def test_every_allocation_is_explicit_and_freed(policy: str) -> None:
    """A kernel writes into memory it is handed; what is not returned is freed after its last use."""
    _, phases = lowered("duration", policy)
    found = operators(phases["plan_memory"], "duration")
    assert found["relax.call_tir"] == 0
    assert found["relax.memory.alloc_storage"] > 0
    assert found["relax.memory.kill_storage"] == found["relax.memory.alloc_storage"]
    assert found["relax.memory.kill_tensor"] >= found["relax.memory.alloc_tensor"] - 2  # two are returned


def test_static_shapes_reuse_storage() -> None:
    found = operators(lowered("duration", "masked")[1]["plan_memory"], "duration")
    assert found["relax.memory.alloc_storage"] < found["relax.memory.alloc_tensor"]
