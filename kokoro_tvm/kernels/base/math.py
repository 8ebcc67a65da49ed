"""Elementary functions as polynomials, on vectors or single values.

NaN gives NaN: values are compared and selected, because the minimum or maximum of NaN and a number may be
either. No function calls libm lane by lane, or a GPU's own functions, of which WGSL asks 11 bits only.

Coefficients are near-minimax fits (iteratively reweighted least squares in double precision). The stated
errors are those of the polynomial; float32 rounding is added and dominates. tests/kernels/test_math.py
measures the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm

from kokoro_tvm.kernels.base.expressions import const, lanes_of, select
from kokoro_tvm.kernels.base.kernel import BaseKernel

Expr = Any

_SIN = (
    -0.16666666631808508,
    0.008333331326720511,
    -0.00019840894510248235,
    2.752663906354768e-06,
    -2.3909593414514485e-08,
)  # |error| < 2e-11 on [-pi/2, pi/2]
_SIN_CYCLES = (
    6.283185307072903,
    -41.34170211725044,
    81.60522623868967,
    -76.7042827689153,
    42.00983215273413,
    -14.394304289150051,
)  # < 2e-11 on [-1/4, 1/4]
_COS = (
    0.04166666636572929,
    -0.0013888867133353576,
    2.4796181470766688e-05,
    -2.699675086118621e-07,
)  # < 2e-12, |x| <= 1
_EXP = (
    0.5000000095134008,
    0.1666651888388718,
    0.04166620597519413,
    0.00836888397175023,
    0.0013950479393593541,
)  # relative < 4e-9 on [-ln2/2, ln2/2]
_ATAN = (
    -0.3333316695175138,
    0.19994136847099586,
    -0.14214206047119368,
    0.10678927567492423,
    -0.07580550029876026,
    0.0435531975816974,
    -0.016580968453430864,
    0.00297453532928689,
)  # < 2e-8 on [0, 1]
_SIN_SQUARED = (
    9.869524813265926,
    -32.46513953701735,
    42.64342599593732,
    -29.426273338724798,
    10.581298483679833,
)  # of the square of half turns: < 5e-7 on [0, 1/4]
_TANH = (
    -0.33333283923207574,
    0.1333149123729034,
    -0.05374349426276493,
    0.02065057556250486,
    -0.005717032528405469,
)  # relative < 5e-9 for |x| <= 0.625


def dtype(lanes: int, base: str = "float32") -> str:
    """Return the name of a vector type: `float32x4` for 4 lanes, `float32` for one."""
    return base if lanes == 1 else f"{base}x{lanes}"


def _c(k: BaseKernel, value: float, like: Expr) -> Expr:
    """Return a float32 constant with the lanes of `like`."""
    return k.real(value, lanes_of(like))


def _horner(k: BaseKernel, x: Expr, coefficients: Sequence[float]) -> Expr:
    """Evaluate a polynomial by Horner's scheme; coefficients from the lowest power up."""
    result = _c(k, coefficients[-1], x)
    for c in reversed(coefficients[:-1]):
        result = result * x + _c(k, c, x)
    return result


def _split(value: float, parts: int) -> list[float]:
    """Split a constant into float32 pieces whose leading ones have 12 bits."""
    # Products of such a piece with small integers are exact.
    pieces = []
    for _ in range(parts - 1):
        piece = np.float32(value)
        piece = (piece.view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32)
        pieces.append(float(piece))
        value -= float(piece)
    return [*pieces, float(np.float32(value))]


_PI = _split(math.pi, 3)
_LN2 = _split(math.log(2), 2)


def _reduce(k: BaseKernel, x: Expr, inverse: float, pieces: Sequence[float]) -> tuple[Expr, Expr]:
    """Return (n, x - n*period), n the nearest integer to x/period (Cody and Waite's reduction)."""
    n = k.let(k.nearest(x * _c(k, inverse, x)))
    r = x
    for piece in pieces:
        r = r - n * _c(k, piece, x)
    return n, r


def _sin_reduced(k: BaseKernel, r: Expr) -> Expr:
    """Return the sine of a reduced angle, |r| <= pi/2."""
    u = k.let(r * r)
    return r + r * u * _horner(k, u, _SIN)


def _half_if_odd(k: BaseKernel, n: Expr) -> Expr:
    """Return 0 for an even integral float, 1/2 for an odd one."""
    half = n * _c(k, 0.5, n)
    return half - tvm.tirx.floor(half)


def sin(k: BaseKernel, x: Expr) -> Expr:
    """Return the sine of radians, |x| up to some thousands."""
    n, r = _reduce(k, x, 1 / math.pi, _PI)
    return _sin_reduced(k, k.let(r)) * (_c(k, 1.0, x) - _c(k, 4.0, x) * _half_if_odd(k, n))


def sin_squared(k: BaseKernel, x: Expr) -> Expr:
    """Return sin(x)**2."""
    # The sign of the half period does not matter, which saves the parity.
    _, r = _reduce(k, k.let(x), 1 / math.pi, _PI)
    s = k.let(_sin_reduced(k, k.let(r)))
    return s * s


def sin_squared_of_half_turns(k: BaseKernel, x: Expr) -> Expr:
    """Return sin(pi*x)**2, of two thirds of the operations and twice the error of `sin_squared`."""
    f = k.let(x - k.nearest(x))
    u = k.let(f * f)
    return u * _horner(k, u, _SIN_SQUARED)


def reduce_cycles(k: BaseKernel, cycles: Expr) -> Expr:
    """Fold a phase of [0, 1) cycles to the phase of [-1/4, 1/4] that has the same sine."""
    x = k.let(cycles)
    folded = select(x > _c(k, 0.75, x), x - _c(k, 1.0, x), select(x > _c(k, 0.25, x), _c(k, 0.5, x) - x, x))
    return k.let(folded)


def sin_cycles(k: BaseKernel, folded: Expr) -> Expr:
    """Return the sine of 2*pi*x for x in [-1/4, 1/4]."""
    return folded * _horner(k, k.let(folded * folded), _SIN_CYCLES)


def sin_unit(k: BaseKernel, x: Expr) -> Expr:
    """Return the sine of radians, |x| <= pi/2."""
    return _sin_reduced(k, x)


def cos_unit(k: BaseKernel, x: Expr) -> Expr:
    """Return the cosine of radians, |x| <= 1."""
    u = k.let(x * x)
    return _c(k, 1.0, x) - _c(k, 0.5, x) * u + u * u * _horner(k, u, _COS)


def exp(k: BaseKernel, x: Expr) -> Expr:
    """Return e**x, saturating at |x| = 87."""
    x = k.let(x)
    x = k.let(select(x > _c(k, 87.0, x), _c(k, 87.0, x), x))
    x = k.opaque(select(x < _c(k, -87.0, x), _c(k, -87.0, x), x))
    lanes = lanes_of(x)
    n, r = _reduce(k, x, 1 / math.log(2), _LN2)
    r = k.opaque(r)
    y = _c(k, 1.0, x) + r + r * r * _horner(k, r, _EXP)
    whole = select(n < _c(k, 127.0, x), n, _c(k, 127.0, x))  # NaN has no integer
    exponent = tvm.tirx.Cast(dtype(lanes, "int32"), whole) + const(127, dtype(lanes, "int32"))
    power = tvm.tirx.reinterpret(
        dtype(lanes), tvm.tirx.shift_left(exponent, const(23, dtype(lanes, "int32")))
    )
    return k.let(y) * power


def sigmoid(k: BaseKernel, x: Expr) -> Expr:
    """Return 1 / (1 + e**-x)."""
    return _c(k, 1.0, x) / (_c(k, 1.0, x) + exp(k, x * _c(k, -1.0, x)))


def tanh(k: BaseKernel, x: Expr) -> Expr:
    """Return the hyperbolic tangent."""
    # A polynomial near zero, where the exponential form would lose relative precision.
    x = k.let(x)
    u = k.let(x * x)
    near = x + x * u * _horner(k, u, _TANH)
    far = _c(k, 1.0, x) - _c(k, 2.0, x) / (exp(k, x * _c(k, 2.0, x)) + _c(k, 1.0, x))
    return select(u < _c(k, 0.625**2, x), near, far)


def atan2(k: BaseKernel, y: Expr, x: Expr) -> Expr:
    """Return the angle of (x, y) in (-pi, pi]; a y of zero counts as +0."""
    zero = _c(k, 0.0, x)
    ax, ay = k.let(tvm.tirx.max(x, zero - x)), k.let(tvm.tirx.max(y, zero - y))
    steep = ay > ax
    larger = k.let(select(steep, ay, ax))
    least = _c(k, 1e-37, x)
    t = k.let(select(steep, ax, ay) / select(larger < least, least, larger))
    u = k.let(t * t)
    angle = k.let(t + t * u * _horner(k, u, _ATAN))
    angle = k.let(select(steep, _c(k, math.pi / 2, x) - angle, angle))
    angle = k.let(select(x < zero, _c(k, math.pi, x) - angle, angle))
    return select(y < zero, zero - angle, angle)
