"""Lengths known only at run time, through TVM's passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tiers import PINNED
from tvm import relax, te, topi

from upstream.support import computed

pytestmark = [pytest.mark.upstream, PINNED]


def module(build: Any) -> Any:
    """main(x (m,) float32) = build(builder, x, m)."""
    m = tvm.tirx.Var("m", "int64")
    x = relax.Var("x", relax.TensorType([m], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(build(builder, x, m))
        builder.emit_func_output(result)
    return builder.get()


TEN = np.arange(10, dtype="float32")


def test_emit_te_of_an_unknown_length() -> None:
    result = module(lambda b, x, m: b.emit_te(lambda t: te.compute((2 * m,), lambda i: t[i // 2]), x))
    np.testing.assert_array_equal(computed(result, TEN), TEN.repeat(2))


def test_lengths_computed_from_lengths() -> None:
    result = module(lambda b, x, m: b.emit_te(lambda t: te.compute((m // 5 - 1,), lambda i: t[i * 5]), x))
    assert computed(result, TEN).shape == (1,)
    result = module(lambda b, x, m: b.emit(relax.op.zeros(relax.ShapeExpr([2048 * m]), "float32")))
    assert computed(result, TEN).shape == (20480,)


def test_reshape_of_an_unknown_length() -> None:
    def build(b: Any, x: Any, m: Any) -> Any:
        rows = b.emit(relax.op.reshape(b.emit(relax.op.repeat(x, 4, 0)), relax.ShapeExpr([m * 2, 2])))
        return b.emit(relax.op.reshape(rows, relax.ShapeExpr([m, 4])))

    np.testing.assert_array_equal(computed(module(build), TEN)[:, 3], TEN)


def test_folding_constants_beside_an_unknown_length() -> None:
    def build(b: Any, x: Any, m: Any) -> Any:
        two = b.emit(relax.op.add(relax.const(np.ones(1, "float32")), relax.const(np.ones(1, "float32"))))
        return b.emit(relax.op.multiply(b.emit(relax.op.broadcast_to(two, relax.ShapeExpr([m]))), x))

    folded = relax.transform.FoldConstant()(relax.transform.LegalizeOps()(module(build)))
    np.testing.assert_array_equal(computed(folded, TEN), 2 * TEN)


def test_a_legalization_of_ones_own_replaces_tvms() -> None:
    """As the seeds did for slice_scatter; here it is a pass's argument, and nothing global changes."""
    result = module(lambda b, x, m: b.emit(relax.op.negative(x)))
    mine = {"relax.negative": lambda b, call: b.call_te(lambda t: topi.multiply(t, -3.0), *call.args)}
    np.testing.assert_array_equal(computed(relax.transform.LegalizeOps(mine)(result), TEN), -3 * TEN)
