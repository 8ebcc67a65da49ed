from __future__ import annotations

from lowering import lowered

from .support import operators


def test_fuse_merges_neighbours() -> None:
    """Fuse the mask of a masked artifact: count, compare, choose, all in one loop."""
    _, phases = lowered("text_encoder", "masked")
    before, after = (operators(phases[phase], "text_encoder") for phase in ("legalize", "fuse"))
    assert after["relax.call_tir"] < before["relax.call_tir"]
    fused = [v.name_hint for v in phases["fuse"].get_global_vars() if v.name_hint.startswith("fused_")]
    assert any("less" in name and "where" in name for name in fused)


def test_fuse_makes_reshapes_views() -> None:
    _, phases = lowered("duration")
    assert operators(phases["import"], "duration")["relax.reshape"] > 0
    assert operators(phases["fuse"], "duration")["relax.reshape"] > 0


def test_fuse_keeps_semantic_operations() -> None:
    _, phases = lowered("duration")
    before, after = (operators(phases[phase], "duration") for phase in ("import", "fuse"))
    assert after["relax.call_dps_packed"] == before["relax.call_dps_packed"] > 0
