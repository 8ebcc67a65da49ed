"""Servers under load: `python -m kokoro_tvm.tools.bench.load` measures ours, and peers behind a plain
server."""
