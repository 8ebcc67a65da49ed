"""The TVM runtime by itself: `tvm_ffi` and `libtvm_runtime`, without the `tvm` package, compiler or torch."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from kokoro_tvm.errors import BundleError

__all__ = ["load_tvm_ffi", "pool_size", "use_threads"]

_LIBRARY = {"darwin": "libtvm_runtime.dylib", "win32": "tvm_runtime.dll"}.get(
    sys.platform, "libtvm_runtime.so"
)
# AffinityMode kSpecifyThreadShareAllCore: the default one would pin threads, the caller's among them, to the
# first cores of the machine, where every other process that does the same would meet them.
_SHARE_ALL_CORES = -3
_configured = threading.local()


class _TorchFinder:
    """An import hook that hides torch from the threads that set `hidden.here`, and from no other."""

    def __init__(self) -> None:
        self.hidden = threading.local()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch" and getattr(self.hidden, "here", False):
            raise ModuleNotFoundError("torch is hidden while tvm_ffi is imported", name="torch")


_finder = _TorchFinder()


@contextmanager
def without_torch() -> Iterator[None]:
    """Hide torch from imports of this thread; other threads, and who imported it before, are not affected.

    `tvm_ffi` imports torch where it is installed, which takes seconds. A None in `sys.modules` would prevent
    that for every thread.
    """
    if _finder not in sys.meta_path:
        # Never removed: a thread that iterates over the list meanwhile would skip the next finder.
        sys.meta_path.insert(0, _finder)
    _finder.hidden.here = True
    try:
        yield
    finally:
        _finder.hidden.here = False


@cache
def load_tvm_ffi() -> Any:
    """Import `tvm_ffi` (without torch, unless that is loaded already) and load `libtvm_runtime` beside it.

    Raises:
        BundleError: one of the two is not installed; the message says how to get it.
    """
    try:
        with without_torch():
            tvm_ffi = importlib.import_module("tvm_ffi")
    except ImportError as error:
        raise BundleError(f"The TVM runtime is missing ({error}). Run `pip install apache-tvm`.") from error
    # Before it sleeps, an idle worker of TVM's spins, offering its core to whoever else wants it. Where
    # somebody does, it waits for their time slice (3 ms) when work comes: beside one busy process, speech
    # took 2.6 times as long as alone, and 1.8 times without spinning. Alone, the difference was too small
    # to be measured.
    if os.environ.get("TVM_THREAD_POOL_SPIN_COUNT") is None:
        os.environ["TVM_THREAD_POOL_SPIN_COUNT"] = "0"
    # RTLD_GLOBAL: compiled libraries find the runtime's functions by name.
    ctypes.CDLL(str(_runtime_library()), ctypes.RTLD_GLOBAL)
    return tvm_ffi


def _runtime_library() -> Path:
    """`libtvm_runtime` of TVM_LIBRARY_PATH or of the installed `tvm` package, found but not imported."""
    folders = [Path(given)] if (given := os.environ.get("TVM_LIBRARY_PATH")) else []
    spec = importlib.util.find_spec("tvm")
    if spec is not None:
        folders += [Path(place) / "lib" for place in spec.submodule_search_locations or ()]
    for folder in folders:
        if (folder / _LIBRARY).is_file():
            return folder / _LIBRARY
    looked = ", ".join(map(str, folders)) or "nowhere: the package tvm is not installed"
    raise BundleError(
        f"{_LIBRARY} was not found (looked in {looked}). Run `pip install apache-tvm`, "
        "or point TVM_LIBRARY_PATH to the folder that holds it."
    )


def pool_size(count: int) -> int:
    """Number of threads of a pool created for `count` threads; it cannot grow later."""
    return max(count, len(_cores()))


def use_threads(count: int) -> None:
    """Let compiled code called from this Python thread use `count` threads on any core the process may use.

    TVM keeps one pool per calling thread, so this is called before every run; only a change costs anything.
    """
    if getattr(_configured, "count", None) == count:
        return
    tvm_ffi = load_tvm_ffi()
    cores = _cores()
    # The list bounds the size of the pool: cores are named twice for more threads than cores.
    listed = [str(cores[i % len(cores)]) for i in range(pool_size(count))]
    tvm_ffi.get_global_func("runtime.config_threadpool")(_SHARE_ALL_CORES, count, listed)
    _configured.count = count


def _cores() -> list[int]:
    """Numbers of the cores this process may run on."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return sorted(os.sched_getaffinity(0)) if has_affinity else list(range(os.cpu_count() or 1))
