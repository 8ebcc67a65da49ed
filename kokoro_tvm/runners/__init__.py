"""What executes a bundle's code on the machine that builds: one module a runner.

Validation, speech and the report open sessions through a runner and load no code themselves.
"""

from __future__ import annotations

from kokoro_tvm.runners.base import Runner, Start, open_parts, open_synthesizer

__all__ = ["Runner", "Start", "open_parts", "open_synthesizer"]
