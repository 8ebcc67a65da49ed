from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lowering import MACHINE, PASSES, lowered, lowered_program, program

from kokoro_tvm.errors import BuildError
from kokoro_tvm.features import NO_KERNELS
from kokoro_tvm.ops.base import semantic

from .support import operators

PLAIN = replace(MACHINE, features=NO_KERNELS)
COMPONENT = "text_encoder"


def phases(machine: Any) -> dict[str, Any]:
    """The module after every pass."""
    found: dict[str, Any] = {}
    lowered_program(program(COMPONENT), COMPONENT, machine=machine, dump=found.__setitem__)
    return found


def test_what_has_kernels_stays_as_it_is() -> None:
    before, after = (
        lowered(COMPONENT)[1][phase][f"{COMPONENT}_forward"] for phase in ("import", "decompose")
    )
    assert after.script(show_meta=True) == before.script(show_meta=True)


@pytest.mark.parametrize("policy", ["exact", "masked"])
def test_nothing_semantic_is_left_without_kernels(policy: str) -> None:
    found: dict[str, Any] = {}
    result = lowered_program(program(COMPONENT, policy), COMPONENT, machine=PLAIN, dump=found.__setitem__)
    assert operators(found["import"], COMPONENT)["relax.call_dps_packed"] > 0
    assert operators(found["decompose"], COMPONENT)["relax.call_dps_packed"] == 0
    assert all(parameter.packing is None for parameter in result.parameters)


def test_only_what_has_no_kernel_is_decomposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with kernels for what takes the time alone."""
    without = replace(semantic.registry()["layer_norm"], kernels={})
    monkeypatch.setitem(semantic._REGISTRY, "layer_norm", without)
    found = phases(MACHINE)
    before, after = (
        operators(found[phase], COMPONENT)["relax.call_dps_packed"] for phase in ("import", "decompose")
    )
    assert 0 < after < before
    names = [variable.name_hint for variable in found["select_kernels"].get_global_vars()]
    assert any(f"{COMPONENT}_conv1d_" in name for name in names)
    assert not any(f"{COMPONENT}_layer_norm_" in name for name in names)


def test_a_list_without_it_is_refused_where_there_are_no_kernels() -> None:
    passes = [name for name in PASSES if name != "decompose"]
    message = r"\w+ has no kernel for this machine \(there are: [\w, ]+\): list the pass decompose before"
    with pytest.raises(BuildError, match=message):
        lowered_program(program(COMPONENT), COMPONENT, passes, machine=PLAIN)
