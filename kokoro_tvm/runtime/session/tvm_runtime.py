"""The TVM runtime by itself, without the compiler and torch: `tvm_ffi` and `libtvm_runtime`, and compiled
libraries, loaded of the bytes that were hashed, not of whatever their path leads to by now."""

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

__all__ = ["load_library", "load_tvm_ffi", "pool_size", "private_copy", "runtime_folders", "use_threads"]

_LIBRARY = {"darwin": "libtvm_runtime.dylib", "win32": "tvm_runtime.dll"}.get(
    sys.platform, "libtvm_runtime.so"
)
# AffinityMode kSpecifyThreadShareAllCore: the default one would pin threads, the caller's among them, to the
# first cores of the machine, where every other process that does the same would meet them.
_SHARE_ALL_CORES = -3
_configured = threading.local()
_lock = held_at_forks()
_loaded: list[str] = []  # sha256 of the libtvm_runtime of this process, once there is one
_modules: dict[str, Any] = {}  # sha256 -> module; a library that is open twice is loaded once
_PROC_FD = Path("/proc/self/fd")
_serial = itertools.count(1)


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


def load_tvm_ffi(library: OpenFile | None = None) -> Any:
    """Import `tvm_ffi` (without torch, unless that is loaded already) and load `libtvm_runtime` beside it.

    library: the one a bundle brings. An installed one with the same bytes is loaded instead, so that `tvm`
    can be imported later; without `library`, the installed one is loaded. A process loads one only.

    Raises:
        BundleError: `tvm_ffi` or `libtvm_runtime` is not installed, or `library` differs from what this
            process has loaded; the message says what to do.
    """
    tvm_ffi = _import_tvm_ffi()
    with _lock:
        if not _loaded:
            _loaded.append(_load(library))
    if library is not None and library.ref.sha256 != _loaded[0] and not _given_folder():
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
    # Before it sleeps, an idle worker of TVM's spins, offering its core to whoever else wants it. Where
    # somebody does, it waits for their time slice (3 ms) when work comes: beside one busy process, speech
    # took 2.6 times as long as alone, and 1.8 times without spinning. Alone, the difference was too small
    # to be measured.
    if os.environ.get("TVM_THREAD_POOL_SPIN_COUNT") is None:
        os.environ["TVM_THREAD_POOL_SPIN_COUNT"] = "0"
    return tvm_ffi


def _load(library: OpenFile | None) -> str:
    """Load the installed or the bundle's `libtvm_runtime`; returns its sha256."""
    if library is None or _given_folder():
        installed = _installed_library()
        digest = file_sha256(installed)
        _open(str(installed))
        return digest
    digest = library.ref.sha256
    same = [path for path in _installed_libraries() if file_sha256(path) == digest]
    if same:
        _open(str(same[0]))
    else:
        with private_copy(library.content(), library.ref.path.name) as copy:
            _open(copy)
    return digest


def _open(path: str) -> None:
    ctypes.CDLL(path, ctypes.RTLD_GLOBAL)  # compiled libraries find the runtime's functions by name


def _installed_library() -> Path:
    """`libtvm_runtime` of TVM_LIBRARY_PATH or of the installed `tvm` package, found but not imported.

    Raises:
        BundleError: there is none.
    """
    found = next(_installed_libraries(), None)
    if found is None:
        looked = ", ".join(map(str, runtime_folders())) or "nowhere: the package tvm is not installed"
        raise BundleError(
            f"{_LIBRARY} was not found (looked in {looked}). Run `pip install apache-tvm`, "
            "or point TVM_LIBRARY_PATH to the folder that holds it."
        )
    return found


def _installed_libraries() -> Iterator[Path]:
    for folder in runtime_folders():
        if (folder / _LIBRARY).is_file():
            yield folder / _LIBRARY


def runtime_folders() -> list[Path]:
    """Where the TVM runtime is looked for: in TVM_LIBRARY_PATH, and in the installed package `tvm`."""
    folders = [Path(given)] if (given := _given_folder()) else []
    spec = importlib.util.find_spec("tvm")
    if spec is not None:
        folders += [Path(place) / "lib" for place in spec.submodule_search_locations or ()]
    return folders


def _given_folder() -> str:
    """The folder that the user chose, whose library is taken whatever a bundle brings."""
    return os.environ.get("TVM_LIBRARY_PATH", "")


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


@contextmanager
def private_copy(content: bytes, name: str) -> Iterator[str]:
    """A path that leads to `content` and that nobody else can change, as long as the block lasts.

    Linux: a sealed file in memory, whose content nobody can change, this process included. Elsewhere: a file
    in a new folder that only this user can enter. Windows cannot delete a loaded library; there the copy
    stays in the folder for temporary files.
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
    """A path of an open file that no library was loaded by before.

    The dynamic loader compares names first: it would give the library that an earlier file with the same
    descriptor held. So the path has a "/" for each 0 of a serial number and a "/." for each 1.
    """
    digits = f"{next(_serial):b}".replace("0", "/").replace("1", "/.")
    return f"{_PROC_FD}{digits}/{descriptor}"


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
