"""Servers under load: `python -m kokoro_tvm.bench.load` measures ours, and peers behind a plain server."""
