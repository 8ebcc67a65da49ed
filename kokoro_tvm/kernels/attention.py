"""Multi-head self-attention over the valid tokens."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import ceildiv, const, logical_and, maximum, minimum, select
from kokoro_tvm.kernels.base.math import dtype, exp
from kokoro_tvm.kernels.base.semantic import OpCall, OpImplementation, crop_valid, pad_steps, semantic_op
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.kernel import GpuKernel

_QUERIES = 8  # computed side by side, each against whole vectors of keys


def _build_cpu_kernel(call: OpCall) -> Any:
    lanes, heads = call.features.lanes, call.get_int("heads")
    size = int(call.shapes["query"][2]) // heads
    k = CpuKernel("attention", lanes)
    with k:
        query, key, value = (k.param(name, call.shapes[name]) for name in ("query", "key", "value"))
        y, valid_steps = call.declare_result(k)
        n = k.let(valid_steps, "n")
        keys = k.let(ceildiv(n, lanes) * lanes, "keys")
        blocks = k.let(ceildiv(n, _QUERIES), "blocks")
        pieces = k.let(minimum(blocks, const(4, "int64")), "pieces")
        per_piece = k.let((blocks + pieces - 1) // pieces, "per_piece")

        def transpose_head(source: Any, head: Any) -> Any:
            """Copy a head's channels to rows, padded with zeros to whole vectors of keys."""
            rows = k.scratch(size * keys)
            with k.loop(n) as t, k.loop(size) as d:
                k.store(rows, source[0, t, head * size + d], d * keys + t)
            with k.loop(size) as d, k.loop(keys - n) as t:
                k.store(rows, const(0.0, "float32"), d * keys + n + t)
            return rows

        def total(register: Any, combine: Any) -> Any:
            """Combine all lanes of a vector to one value."""
            result = register[0]
            for lane in range(1, lanes):
                result = k.let(combine(result, register[lane]))
            return result

        with k.parallel(heads * pieces) as task:
            head = k.let(task // pieces, "head")
            first = k.let((task - head * pieces) * per_piece, "first")
            key_rows = transpose_head(key, head)
            scores = k.scratch(_QUERIES * keys)
            inverse = k.scratch(_QUERIES)
            with k.loop(maximum(minimum(per_piece, blocks - first), const(0, "int64"))) as offset:
                start = k.let((first + offset) * _QUERIES, "start")
                column = [k.let(minimum(start + q, n - 1)) for q in range(_QUERIES)]
                with k.loop(keys // lanes) as v:
                    acc = k.registers(_QUERIES * lanes)
                    for q in range(_QUERIES):
                        k.store(acc, const(0.0, dtype(lanes)), q * lanes, lanes=lanes)
                    with k.loop(size) as d:
                        row = k.let(k.load(key_rows, d * keys + v * lanes, lanes=lanes))
                        for q in range(_QUERIES):
                            factor = k.broadcast(query[0, column[q], head * size + d], lanes)
                            k.accumulate(acc, factor * row, q * lanes, lanes=lanes)
                    for q in range(_QUERIES):
                        scaled = k.load(acc, q * lanes, lanes=lanes) * const(size**-0.5, dtype(lanes))
                        k.store(scores, scaled, q * keys + v * lanes, lanes=lanes)
                register = k.registers(lanes)
                for q in range(_QUERIES):
                    with k.loop(keys - n) as t:
                        k.store(scores, const(-3.0e38, "float32"), q * keys + n + t)
                    k.store(register, const(-3.0e38, dtype(lanes)), 0, lanes=lanes)
                    with k.loop(keys // lanes) as v:
                        here = k.load(scores, q * keys + v * lanes, lanes=lanes)
                        k.store(register, maximum(k.load(register, 0, lanes=lanes), here), 0, lanes=lanes)
                    largest = k.opaque(k.broadcast(total(register, maximum), lanes))
                    k.store(register, const(0.0, dtype(lanes)), 0, lanes=lanes)
                    with k.loop(keys // lanes) as v:
                        here = k.let(k.load(scores, q * keys + v * lanes, lanes=lanes))
                        weight = exp(k, here - largest)
                        # Beyond the last key exp saturates instead of vanishing. NaN compares false.
                        weight = k.let(
                            select(here < const(-1.0e38, dtype(lanes)), const(0.0, dtype(lanes)), weight)
                        )
                        k.store(scores, weight, q * keys + v * lanes, lanes=lanes)
                        k.accumulate(register, weight, 0, lanes=lanes)
                    k.store(inverse, const(1.0, "float32") / total(register, lambda a, b: a + b), q)

                def mix(d: Any, width: int, head: Any = head, start: Any = start) -> None:
                    """Compute `width` channels of the weighted values, for every query."""
                    acc = k.registers(_QUERIES * width)
                    for q in range(_QUERIES):
                        k.store(acc, const(0.0, dtype(width)), q * width, lanes=width)
                    with k.loop(n) as t:
                        row = k.let(k.load(value, 0, t, head * size + d, lanes=width))
                        for q in range(_QUERIES):
                            weighted = k.broadcast(scores[q * keys + t], width) * row
                            k.accumulate(acc, weighted, q * width, lanes=width)
                    for q in range(_QUERIES):
                        with k.when(start + q < n):
                            result = k.load(acc, q * width, lanes=width) * k.broadcast(inverse[q], width)
                            k.store(y, result, 0, start + q, head * size + d, lanes=width)

                k.vectorize(size, mix)
    return k.build()


_TILE, _KEYS, _LANES = 16, 32, 8  # of a workgroup: queries, keys at a time, threads of a query


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel: a workgroup for each head and tile of queries."""
    # It reads the keys once: when a larger score appears, the sums are scaled down (online softmax). A tile
    # of keys, then of values, is in shared memory, in rows of odd length, so that neighbouring threads read
    # neighbouring keys from different banks.
    heads = call.get_int("heads")
    size = int(call.shapes["query"][2]) // heads
    threads, row, lowest = _TILE * _LANES, size | 1, const(-3.0e38, "float32")
    shares, keys_each = ceildiv(size, _LANES), _KEYS // _LANES
    k = GpuKernel("attention", call.features)
    with k:
        query, key, value = (k.param(name, call.shapes[name]) for name in ("query", "key", "value"))
        y, n = call.declare_result(k)
        with k.launch(threads, ceildiv(y.shape[1], _TILE), heads) as (thread, tile, head):
            queries, rows, scores = k.shared(_TILE * row), k.shared(_KEYS * row), k.shared(_TILE * _KEYS)
            sums, largest, total = k.registers(shares), k.registers(1), k.registers(1)
            products, weights = k.registers(keys_each), k.registers(keys_each)
            first = k.let(tile * _TILE)
            q, lane = k.divmod(thread, _LANES)
            own = [k.let(lane + share * _LANES) for share in range(keys_each)]

            def fetch(into: Any, source: Any, start: Any, count: int) -> None:
                """Copy valid steps of a head to shared memory; invalid ones become zero."""
                with k.strided_loop(count * size, thread, threads) as number:
                    t, d = k.divmod(number, size)
                    k.choose(
                        start + t < n,
                        lambda: k.store(into, source[0, start + t, head * size + d], t * row + d),
                        lambda: k.store(into, const(0.0, "float32"), t * row + d),
                    )

            fetch(queries, query, first, _TILE)
            k.store(largest, lowest, 0)
            k.store(total, const(0.0, "float32"), 0)
            for share in range(shares):
                k.store(sums, const(0.0, "float32"), share)
            # Tiles beyond the last query loop zero times; a condition must not surround the barriers.
            with k.loop(k.let(select(first < n, ceildiv(n, _KEYS), k.index(0)))) as block:
                start = k.let(block * _KEYS)
                fetch(rows, key, start, _KEYS)
                k.barrier()
                for share in range(keys_each):
                    k.store(products, const(0.0, "float32"), share)
                with k.loop(size) as d:
                    factor = k.let(queries[q * row + d])
                    for share, at in enumerate(own):
                        k.accumulate(products, factor * rows[at * row + d], share)
                for share, at in enumerate(own):
                    score = products[share] * const(size**-0.5, "float32")
                    k.store(scores, select(start + at < n, score, lowest), q * _KEYS + at)
                k.barrier()
                fetch(rows, value, start, _KEYS)
                before = k.let(largest[0])
                with k.loop(_KEYS) as at:
                    k.store(largest, maximum(largest[0], scores[q * _KEYS + at]), 0)
                decay = k.let(exp(k, before - largest[0]))
                for share, at in enumerate(own):
                    # Beyond the last key exp saturates instead of vanishing.
                    weight = exp(k, scores[q * _KEYS + at] - largest[0])
                    k.store(weights, select(start + at < n, weight, const(0.0, "float32")), share)
                k.barrier()
                for share, at in enumerate(own):
                    k.store(scores, weights[share], q * _KEYS + at)
                k.barrier()
                k.store(total, total[0] * decay, 0)
                for share in range(shares):
                    k.store(sums, sums[share] * decay, share)
                with k.loop(_KEYS) as at:
                    weight = k.let(scores[q * _KEYS + at])
                    k.accumulate(total, weight, 0)
                    for share in range(shares):
                        d = minimum(lane + share * _LANES, k.index(size - 1))
                        k.accumulate(sums, weight * rows[at * row + d], share)
                k.barrier()
            for share in range(shares):
                d = k.let(lane + share * _LANES)
                with k.when(logical_and(first + q < n, d < size)):
                    k.store(y, sums[share] / total[0], 0, first + q, head * size + d)
    return k.build()


@semantic_op(cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def attention(
    query: Tensor, key: Tensor, value: Tensor, length: Tensor | None = None, *, heads: int
) -> Tensor:
    """Compute softmax(q k / sqrt(d)) v for each head.

    Args:
        query: (1, T, heads*d).
        key: (1, T, heads*d).
        value: (1, T, heads*d).
        length: int64 (1,), valid steps.
        heads: Number of heads.

    Returns:
        (1, T, heads*d).
    """
    q, k, v = (crop_valid(t, length).unflatten(2, (heads, -1)).transpose(1, 2) for t in (query, key, value))
    y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    return pad_steps(y, query.shape[1])
