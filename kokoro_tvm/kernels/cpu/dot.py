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
define <16 x float> @kokoro_even(<16 x i32> %a) alwaysinline {
  %s = shl <16 x i32> %a, splat (i32 16)
  %r = bitcast <16 x i32> %s to <16 x float>
  ret <16 x float> %r
}
define <16 x float> @kokoro_odd(<16 x i32> %a) alwaysinline {
  %s = and <16 x i32> %a, splat (i32 -65536)
  %r = bitcast <16 x i32> %s to <16 x float>
  ret <16 x float> %r
}
define <16 x i32> @kokoro_pair(<16 x float> %even, <16 x float> %odd) alwaysinline {
  %r = call <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float> %odd, <16 x float> %even)
  %s = shufflevector <32 x bfloat> %r, <32 x bfloat> poison, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  %p = bitcast <32 x bfloat> %s to <16 x i32>
  ret <16 x i32> %p
}
define <16 x i32> @kokoro_round_pairs(<16 x float> %first, <16 x float> %second) alwaysinline {
  %r = call <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float> %second, <16 x float> %first)
  %p = bitcast <32 x bfloat> %r to <16 x i32>
  ret <16 x i32> %p
}
"""


def define_bfloat16_instructions() -> AbstractContextManager[Any]:
    """Define the functions below for the enclosed code."""
    return T.attr(0, "pragma_import_llvm", _LLVM)


def dot_pairs(total: Any, a: Any, b: Any) -> Any:
    """Return total + a0*b0 + a1*b1 in every lane; total float32x16, a and b pairs of bfloat16 as int32x16."""
    return tvm.tirx.call_pure_extern("float32x16", "kokoro_dot_pairs", total, a, b)


def unpack_pairs(pairs: Any) -> tuple[Any, Any]:
    """Return the low and the high bfloat16 of every lane of int32x16, as two float32x16."""
    even, odd = (tvm.tirx.call_pure_extern("float32x16", f"kokoro_{half}", pairs) for half in ("even", "odd"))
    return even, odd


def pack_pairs(even: Any, odd: Any) -> Any:
    """Round two float32x16 to nearest even: the low and the high bfloat16 of every lane, as int32x16."""
    return tvm.tirx.call_pure_extern("int32x16", "kokoro_pair", even, odd)


def round_pairs(first: Any, second: Any) -> Any:
    """Round two neighbouring float32x16 to nearest even: 32 bfloat16 in order, as int32x16."""
    return tvm.tirx.call_pure_extern("int32x16", "kokoro_round_pairs", first, second)
