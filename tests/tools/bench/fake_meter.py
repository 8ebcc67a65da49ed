"""Meter of a machine with a teraflop in float32."""

from __future__ import annotations

from kokoro_tvm.tools.bench.worker import serve

serve(lambda request: ({}, lambda _: {"float32": 1e12}))
