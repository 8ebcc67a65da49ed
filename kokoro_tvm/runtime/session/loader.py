"""Loads compiled libraries: the bytes that were hashed, not whatever their path leads to by now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kokoro_tvm.runtime.bundle.files import OpenFile
from kokoro_tvm.runtime.forks import held_at_forks
from kokoro_tvm.runtime.session.private_copy import private_copy
from kokoro_tvm.runtime.session.tvm_runtime import load_tvm_ffi

__all__ = ["load_library"]

_lock = held_at_forks()
_modules: dict[str, Any] = {}  # sha256 -> module; a library that is open twice is loaded once


def load_library(file: OpenFile, kernels: Callable[[], Any] | None = None) -> Any:
    """The TVM module of a library, made of the very bytes that were compared with the manifest.

    `kernels` loads those of a GPU that the library launches, once for each time it is loaded.

    It stays loaded until the process ends, as TVM keeps every library: objects may refer to its code.

    Raises:
        BundleError: the file is not what the manifest says.
        RuntimeError: the system or TVM cannot load it.
    """
    content, digest = file.content(), file.ref.sha256
    with _lock:
        if digest not in _modules:
            ffi = load_tvm_ffi()
            with private_copy(content, file.ref.path.name) as path:
                module = ffi.get_global_func("ffi.Module.load_from_file.so")(path, "so")
            if kernels is not None:
                (code,) = module.imports  # the instructions, which were read from it, import the code itself
                code.import_module(kernels())
            ffi.get_global_func("ffi.ModuleGlobalsAdd")(module)
            _modules[digest] = module
        return _modules[digest]
