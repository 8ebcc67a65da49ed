"""Names of functions, and modules written down."""

from __future__ import annotations

import signal

import pytest
import tvm
from tiers import PINNED
from tvm import te

from upstream.support import changed, in_child

pytestmark = [pytest.mark.upstream, PINNED]


def doubled(name: str) -> tvm.tirx.PrimFunc:
    x = te.placeholder((4,), name="x")
    return te.create_prim_func([x, te.compute((4,), lambda i: x[i] * 2.0, name=name)])


def test_functions_have_symbols_of_their_own() -> None:
    symbols = [doubled(name).attrs["global_symbol"] for name in ("a", "b")]
    assert symbols == ["main", "main"], changed("every function create_prim_func makes has the symbol main")


SAVE = """
import tvm
from tvm import relax
x = relax.Var("x", relax.TensorType([tvm.tirx.Var("n", "int64")], "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x]):
    builder.emit_func_output(builder.emit(relax.op.add(x, x)))
print("saving", flush=True)
text = tvm.ir.save_json(builder.get())
tvm.ir.assert_structural_equal(tvm.ir.load_json(text), builder.get())
"""


def test_a_module_is_saved_as_json() -> None:
    process = in_child(SAVE)
    assert process.stdout == "saving\n", process.stderr
    assert process.returncode == -signal.SIGSEGV, changed("save_json crashes on the shapes of Relax types")
