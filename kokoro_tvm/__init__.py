"""kokoro-tvm: Kokoro-82M, compiled through Apache TVM into artifacts that speak.

Names are resolved on first use, so that `import kokoro_tvm` stays instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kokoro_tvm.common.errors import BundleError, InputError, KokoroTvmError
    from kokoro_tvm.runtime import Speech, SpeechWarning, Synthesizer

__version__ = "0.1.0"
__all__ = [
    "BundleError",
    "InputError",
    "KokoroTvmError",
    "Speech",
    "SpeechWarning",
    "Synthesizer",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name in {"BundleError", "InputError", "KokoroTvmError"}:
        from kokoro_tvm.common import errors

        return getattr(errors, name)
    if name in __all__:
        from kokoro_tvm import runtime

        return getattr(runtime, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
