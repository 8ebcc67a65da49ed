"""Loading of the TVM runtime, without compiler and torch, and of compiled libraries, from verified bytes."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.files import OpenFile
from kokoro_tvm.runtime.forks import held_at_forks

_LIBRARY = {"darwin": "libtvm_runtime.dylib", "win32": "tvm_runtime.dll"}.get(
    sys.platform, "libtvm_runtime.so"
)
# AffinityMode kSpecifyThreadShareAllCore: the default pins threads, the caller's among them, to the first
# cores of the machine, as every other process does.
_SHARE_ALL_CORES = -3
_configured = threading.local()
_lock = held_at_forks()
_loaded: list[str] = []  # sha256 of this process's libtvm_runtime, once it is loaded
_modules: dict[str, Any] = {}  # sha256 -> module
_PROC_FD = Path("/proc/self/fd")
_serial = itertools.count(1)


class _TorchFinder:
    """An import hook that hides torch from threads with `hidden.here`."""

    def __init__(self) -> None:
        self.hidden = threading.local()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch" and getattr(self.hidden, "here", False):
            raise ModuleNotFoundError("torch is hidden while tvm_ffi is imported", name="torch")


_finder = _TorchFinder()


@contextmanager
def without_torch() -> Iterator[None]:
    """Hide torch from imports of this thread.

    `tvm_ffi` imports torch if it is installed, which takes seconds. A None in `sys.modules` would hide it
    from every thread.
    """
    if _finder not in sys.meta_path:
        # Never removed: a thread that iterates over the list would skip the next finder.
        sys.meta_path.insert(0, _finder)
    _finder.hidden.here = True
    try:
        yield
    finally:
        _finder.hidden.here = False


def load_tvm_ffi(library: OpenFile | None = None) -> Any:
    """Import `tvm_ffi` (without torch, unless that is loaded already) and load `libtvm_runtime`.

    A process loads one runtime. An installed one with the same bytes is preferred to a bundle's, so that
    `tvm` can be imported later.

    Args:
        library: of a bundle; None: the installed one.

    Raises:
        BundleError: `tvm_ffi` or `libtvm_runtime` is not installed, or this process has loaded another one.
    """
    tvm_ffi = _import_tvm_ffi()
    with _lock:
        if not _loaded:
            _loaded.append(_load(library))
    if library is not None and library.ref.sha256 != _loaded[0] and not _library_folder():
        raise BundleError(
            f"{library.ref.path} is another TVM runtime than the one this process has loaded. "
            "Open this bundle in a process of its own."
        )
    return tvm_ffi


@cache
def _import_tvm_ffi() -> Any:
    try:
        with without_torch():
            tvm_ffi = importlib.import_module("tvm_ffi")
    except ImportError as error:
        raise BundleError(
            f"The TVM runtime is missing ({error}). Run `pip install apache-tvm-ffi`."
        ) from error
    # An idle worker of TVM spins before it sleeps, and yields its core. If another process wants the core,
    # the worker waits for its time slice (3 ms) when work comes: beside one busy process, speech took 2.6
    # times as long as alone, and 1.8 times without spinning. Alone, there was no measurable difference.
    if os.environ.get("TVM_THREAD_POOL_SPIN_COUNT") is None:
        os.environ["TVM_THREAD_POOL_SPIN_COUNT"] = "0"
    return tvm_ffi


def _load(library: OpenFile | None) -> str:
    """Load the installed or the bundle's `libtvm_runtime`, and return its sha256."""
    if library is None or _library_folder():
        installed = _installed_library()
        digest = file_sha256(installed)
        _open(str(installed))
        return digest
    digest = library.ref.sha256
    equal = [path for path in _installed_libraries() if file_sha256(path) == digest]
    if equal:
        _open(str(equal[0]))
    else:
        with private_copy(library.content(), library.ref.path.name) as copy:
            _open(copy)
    return digest


def _open(path: str) -> None:
    ctypes.CDLL(path, ctypes.RTLD_GLOBAL)  # compiled libraries find the runtime's functions by name


def _installed_library() -> Path:
    """Return `libtvm_runtime` of TVM_LIBRARY_PATH or of the package `tvm`; raises BundleError."""
    library = next(_installed_libraries(), None)
    if library is None:
        folders = ", ".join(map(str, runtime_folders())) or "nowhere: the package tvm is not installed"
        raise BundleError(
            f"{_LIBRARY} was not found (searched in {folders}). Run `pip install apache-tvm`, "
            "or point TVM_LIBRARY_PATH to the folder that holds it."
        )
    return library


def _installed_libraries() -> Iterator[Path]:
    for folder in runtime_folders():
        if (folder / _LIBRARY).is_file():
            yield folder / _LIBRARY


def runtime_folders() -> list[Path]:
    """Return the folders that may hold the TVM runtime: TVM_LIBRARY_PATH, and the package `tvm`."""
    folders = [Path(folder)] if (folder := _library_folder()) else []
    spec = importlib.util.find_spec("tvm")
    if spec is not None:
        folders += [Path(place) / "lib" for place in spec.submodule_search_locations or ()]
    return folders


def _library_folder() -> str:
    """Return the folder of the user, whose library is preferred to a bundle's, or ""."""
    return os.environ.get("TVM_LIBRARY_PATH", "")


def pool_size(count: int) -> int:
    """Return the size of a pool for `count` threads; it cannot grow later."""
    return max(count, len(_cores()))


def use_threads(count: int) -> None:
    """Let compiled code that this Python thread calls use `count` threads, on any core of the process.

    Call it before every run, because TVM keeps one pool per calling thread; only a change costs time.
    """
    if getattr(_configured, "count", None) == count:
        return
    tvm_ffi = load_tvm_ffi()
    cores = _cores()
    # The list bounds the size of the pool: more threads than cores name cores twice.
    listed = [str(cores[i % len(cores)]) for i in range(pool_size(count))]
    tvm_ffi.get_global_func("runtime.config_threadpool")(_SHARE_ALL_CORES, count, listed)
    _configured.count = count


def _cores() -> list[int]:
    """Return the numbers of the cores that this process may run on."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return sorted(os.sched_getaffinity(0)) if has_affinity else list(range(os.cpu_count() or 1))


@contextmanager
def private_copy(content: bytes, name: str) -> Iterator[str]:
    """Yield the path of a file with `content` that nobody else can change within the block.

    Linux: a sealed file in memory. Elsewhere: a file in a new folder that only this user can enter. Windows
    cannot delete a loaded library, so the copy stays in the folder for temporary files.
    """
    if hasattr(os, "memfd_create") and _PROC_FD.is_dir():
        import fcntl

        descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with open(descriptor, "wb", closefd=False) as stream:
                stream.write(content)
            seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
            yield _unused_name(descriptor)
        finally:
            os.close(descriptor)
    else:
        with TemporaryDirectory(prefix="kokoro-tvm-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            yield str(path)


def _unused_name(descriptor: int) -> str:
    """Return a path of an open file by which no library was loaded before.

    The dynamic loader compares names first: it would return the library of an earlier file with the same
    descriptor. So the path has a "/" for each 0 of a serial number and a "/." for each 1.
    """
    digits = f"{next(_serial):b}".replace("0", "/").replace("1", "/.")
    return f"{_PROC_FD}{digits}/{descriptor}"


def load_library(file: OpenFile, kernels: Callable[[], Any] | None = None) -> Any:
    """Load a library from its verified bytes as a TVM module, once per process.

    It stays loaded until the process ends, because objects may refer to its code.

    Args:
        file: the library.
        kernels: loads its GPU kernels.

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
                (code,) = module.imports  # the instructions import the code itself
                code.import_module(kernels())
            ffi.get_global_func("ffi.ModuleGlobalsAdd")(module)
            _modules[digest] = module
        return _modules[digest]
