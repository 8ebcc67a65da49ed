from __future__ import annotations

from pathlib import Path

import pytest
from lowering import MACHINE, PASSES

import kokoro_tvm.compiler.passes
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.passes import LoweringContext, list_passes, run_passes
from kokoro_tvm.targets import tvm_target

CONTEXT = LoweringContext("bert", tvm_target(MACHINE), MACHINE.features, frozenset())


def test_list_passes_lists_files() -> None:
    folder = Path(kokoro_tvm.compiler.passes.__file__).parent
    assert list_passes() == sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_"))
    assert set(PASSES) <= set(list_passes())


def test_every_pass_has_a_test() -> None:
    assert {path.stem for path in Path(__file__).parent.glob("test_*.py")} >= {
        f"test_{p}" for p in list_passes()
    }


def test_run_passes_without_names_keeps_module() -> None:
    module = object()
    assert run_passes(module, [], CONTEXT) is module


@pytest.mark.parametrize("name", ["_context", "__init__", "os", "../fuse", ""])
def test_run_passes_rejects_unknown_names(name: str) -> None:
    with pytest.raises(BuildError, match="unknown pass"):
        run_passes(object(), [name], CONTEXT)
