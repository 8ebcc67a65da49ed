"""Dot products of bfloat16 pairs with float32 sums, and rounding to such pairs (AVX512-BF16, 16 lanes).

TVM prints bfloat16 as float, so pairs are int32 to it. Small functions of LLVM IR, which only cast types,
call the instructions.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import tvm
from tvm.script.ir_builder import tirx as T

_LLVM = """
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
declare <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float>, <16 x float>)
define <16 x float> @kokoro_dot_pairs(<16 x float> %sum, <16 x i32> %a, <16 x i32> %b) alwaysinline {
  %x = bitcast <16 x i32> %a to <32 x bfloat>
  %y = bitcast <16 x i32> %b to <32 x bfloat>
  %s = call <16 x float>
    @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum, <32 x bfloat> %x, <32 x bfloat> %y)
  ret <16 x float> %s
}
define <16 x i32> @kokoro_round_pairs(<16 x float> %first, <16 x float> %second) alwaysinline {
  %r = call <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float> %second, <16 x float> %first)
  %p = bitcast <32 x bfloat> %r to <16 x i32>
  ret <16 x i32> %p
}
"""


def define_bfloat16_instructions() -> AbstractContextManager[Any]:
    """Define the two functions below for the enclosed code."""
    return T.attr(0, "pragma_import_llvm", _LLVM)


def dot_pairs(total: Any, a: Any, b: Any) -> Any:
    """Return total + a0*b0 + a1*b1 in every lane; total float32x16, a and b pairs of bfloat16 as int32x16."""
    return tvm.tirx.call_pure_extern("float32x16", "kokoro_dot_pairs", total, a, b)


def round_pairs(first: Any, second: Any) -> Any:
    """Round two neighbouring float32x16 to nearest even: 32 bfloat16 in order, as int32x16."""
    return tvm.tirx.call_pure_extern("int32x16", "kokoro_round_pairs", first, second)
