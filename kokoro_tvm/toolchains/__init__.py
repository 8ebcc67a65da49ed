"""What makes loadable files of object code: one module a toolchain."""

from __future__ import annotations

from kokoro_tvm.toolchains.base import Toolchain

__all__ = ["Toolchain"]
