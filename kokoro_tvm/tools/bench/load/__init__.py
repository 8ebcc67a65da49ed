"""Servers under load, ours and peers behind a plain server: `python -m kokoro_tvm.tools.bench.load`."""
