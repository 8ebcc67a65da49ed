"""Records the parallel loops of kernels: what they take on one thread, and into how many tasks they are cut.

A library calls the runtime's TVMBackendParallelLaunch by a pointer, which TVM sets when it loads the library.
Here it is set to a function of this module, which runs a loop on the calling thread alone. Kernels hand out
their tasks by a counter (`ops.cpu.kernel.Kernel.parallel`): what it has at the end of a loop says how many
there were.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kokoro_tvm.errors import KokoroTvmError
from kokoro_tvm.runtime.tvm_runtime import load_tvm_ffi

__all__ = ["Launch", "recorded_launches"]

_SYMBOL = b"__TVMBackendParallelLaunch"
_MOST_THREADS = 64  # that share a loop: as many find no task at its end
_CLOSURE = 64  # words of a loop's captured variables that are looked at
_FRAME = 1 << 16  # bytes of the stack around them, in which the counter lies


class _Environment(ctypes.Structure):
    """TVMParallelGroupEnv: of a loop that one thread runs."""

    _fields_ = (("sync_handle", ctypes.c_void_p), ("num_task", ctypes.c_int32))


_Loop = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Environment), ctypes.c_void_p)
_Backend = ctypes.CFUNCTYPE(ctypes.c_int, _Loop, ctypes.c_void_p, ctypes.c_int)


@dataclass(frozen=True)
class Launch:
    """A parallel loop on one thread.

    `start` is time.perf_counter()'s, `elapsed` the wall time until its recording has ended; `seconds`: the
    thread's CPU time in the loop, which other processes hardly change; `tasks`: what threads can share of it,
    None where that is not known.
    """

    start: float
    elapsed: float
    seconds: float
    tasks: int | None


@contextmanager
def recorded_launches() -> Iterator[list[Launch]]:
    """Records the loops of libraries that are loaded within the block, as long as it lasts. It is for a
    process that opens one bundle and ends: these libraries run on one thread ever after."""
    load_tvm_ffi()
    from tvm_ffi.libinfo import find_libtvm_ffi  # by now torch does not come with it

    found: list[Launch] = []
    register = ctypes.CDLL(find_libtvm_ffi()).TVMFFIEnvModRegisterContextSymbol
    register.argtypes = (ctypes.c_char_p, ctypes.c_void_p)
    backend = _Backend(lambda loop, closure, tasks: _run(loop, closure, found))
    _kept.append(backend)
    if register(_SYMBOL, ctypes.cast(backend, ctypes.c_void_p)):
        raise KokoroTvmError("TVM refuses another function in the place of TVMBackendParallelLaunch")
    yield found


_kept: list[Any] = []  # what libraries call is not collected


def _run(loop: Any, closure: int, found: list[Launch]) -> int:
    start = time.perf_counter()
    counters = [a for a in _addresses(closure) if ctypes.c_int64.from_address(a).value == 0]
    environment = _Environment(None, 1)
    begun = time.thread_time()
    status = loop(0, ctypes.byref(environment), closure)
    seconds = time.thread_time() - begun
    values = {ctypes.c_int64.from_address(address).value for address in counters} - {0}
    tasks = _tasks(*values) if len(values) == 1 else None
    found.append(Launch(start, time.perf_counter() - start, seconds, tasks))
    return int(status)


def _addresses(closure: int) -> set[int]:
    """Of captured variables that lie on the stack of the function that launches the loop."""
    words = (ctypes.c_uint64 * _CLOSURE).from_address(closure)
    return {word for word in words if abs(word - closure) < _FRAME and word % 8 == 0}


def _tasks(counted: int) -> int:
    """Every task was counted, and once more for each of the threads that may share them."""
    return max(counted // 2, counted - _MOST_THREADS)
