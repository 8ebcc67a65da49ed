from __future__ import annotations

import pytest
from lowering import lowered

from .support import operators


@pytest.mark.parametrize("policy", ["exact", "masked"])
@pytest.mark.parametrize("component", ["bert", "duration"])
def test_legalize_leaves_only_tir_calls(component: str, policy: str) -> None:
    """Expect TIR for sums and look-ups; semantic operations wait for their kernels."""
    _, phases = lowered(component, policy)
    before, after = (operators(phases[phase], component) for phase in ("import", "legalize"))
    assert after["relax.call_tir"] > 0
    assert after["relax.call_dps_packed"] == before["relax.call_dps_packed"]
    assert set(after) == {"relax.call_tir", "relax.call_dps_packed"}


def test_legalize_computes_static_ranges_at_run_time() -> None:
    """Print the module: a constant would crash TVM."""
    _, phases = lowered("text_encoder", "masked")
    text = phases["legalize"].script(show_meta=True)
    assert "GenericConst" not in text
    assert "arange" in text
