"""The command line: one module per command, heavy imports only inside commands."""

from __future__ import annotations

from kokoro_tvm.cli._app import build_app, main

__all__ = ["build_app", "main"]
